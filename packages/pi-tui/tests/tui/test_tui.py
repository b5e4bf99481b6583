from __future__ import annotations

import asyncio

import pytest

from pi.tui.component import CURSOR_MARKER
from pi.tui.input.decoder import InputDecision
from pi.tui.overlays import OverlayOptions
from pi.tui.testing import VirtualTerminal
from pi.tui.tui import TUI
from tests.tui.parts import Field, Rows
from tests.tui.program import Program


def test_components_are_shown_and_changes_are_painted() -> None:
    rows = Rows("hello")
    program = Program(rows)
    assert program.shown() == ["hello"]

    rows.rows = ["hello", "world"]
    program.tui.request_render()

    assert program.shown() == ["hello", "world"]


def test_children_can_be_added_and_removed() -> None:
    first, second = Rows("a"), Rows("b")
    program = Program(first)

    program.tui.add_child(second)
    program.tui.remove_child(first)
    assert program.shown() == ["b"]
    program.tui.clear()
    assert program.shown() == []


def test_many_requests_are_one_write() -> None:
    rows = Rows("a")
    program = Program(rows)
    program.timers.advance(1)

    for number in range(100):
        rows.rows = [str(number)]
        program.tui.request_render()

    assert len(program.writes()) == 1


def test_is_painted_reports_pending_frames() -> None:
    program = Program(Rows("hello"))
    seen: list[bool] = []

    def look_twice() -> None:
        seen.append(program.tui.is_painted)
        program.timers.advance(0.5)
        seen.append(program.tui.is_painted)

    program.timers.advance(0.5)
    program.tui.request_render()
    look_twice()
    program.terminal.resize(30, 6)
    look_twice()

    assert seen == [False, True, False, True]


def test_keys_go_to_the_focused_component() -> None:
    field = Field()
    program = Program(field)
    program.tui.set_focus(field)

    program.terminal.type("ab\x1b[A")
    program.terminal.type("\x1b[200~pasted\x1b[201~")

    assert field.typed == ["a", "b", "\x1b[A", "\x1b[200~pasted\x1b[201~"]


@pytest.mark.behaviour("many-keys-in-one-read")
def test_several_keys_in_one_read_are_all_handled_before_one_frame() -> None:
    field = Field()
    program = Program(field)
    program.tui.set_focus(field)
    program.timers.advance(1)

    program.terminal.type("hello")

    assert len(program.writes()) == 1
    assert program.shown() == ["> hello"]


def test_key_releases_are_delivered_on_request() -> None:
    class Piano(Field):
        wants_key_release = True

    field, piano = Field(), Piano()
    program = Program(field, piano)

    program.tui.set_focus(field)
    program.terminal.type("\x1b[97;1:3u")
    program.tui.set_focus(piano)
    program.terminal.type("\x1b[97;1:3u")

    assert (field.typed, piano.typed) == ([], ["\x1b[97;1:3u"])


def test_an_input_listener_can_consume_a_key_before_the_focused_component() -> None:
    field = Field()
    program = Program(field)
    program.tui.set_focus(field)
    remove = program.tui.add_input_listener(
        lambda data: InputDecision(consume=True) if data == "q" else None
    )

    program.terminal.type("aq")
    remove()
    program.terminal.type("q")

    assert field.typed == ["a", "q"]


@pytest.mark.behaviour("replies-are-never-typed")
def test_terminal_replies_are_not_delivered_as_keys() -> None:
    field = Field()
    program = Program(field, replies=True)
    program.tui.set_focus(field)

    program.terminal.type("\x1b]11;rgb:ffff/ffff/ffff\x07\x1b[?997;1n\x1b[<0;3;3M")
    program.tui.request_render()

    assert (program.shown(), field.typed) == ([">"], [])


def test_terminal_replies_change_the_output() -> None:
    rows = Rows("a")
    program = Program(rows)
    program.terminal.type("\x1b[?2026;2$y")

    rows.rows = ["b"]
    program.tui.request_render()

    assert [text[:8] for text in program.writes()] == ["\x1b[?2026h"]


def test_the_background_can_be_queried() -> None:
    program = Program()
    known: list[str] = []

    program.tui.query_background(lambda: known.append(program.tui.appearance.scheme))
    program.terminal.type("\x1b[?62c")
    program.terminal.type("\x1b]11;rgb:ff/ff/ff\x07\x1b[?62c")

    assert known == ["light"]


@pytest.mark.behaviour("selection-survives-colour-polling")
def test_an_idle_screen_writes_nothing() -> None:
    program = Program(Rows("a"), replies=True)
    program.timers.advance(1)
    before = len(program.terminal.output)

    program.timers.advance(600)

    assert program.terminal.output[before:] == []


@pytest.mark.behaviour("input-before-painting")
def test_a_spinner_draws_only_itself() -> None:
    history, spinner = Rows("history"), Rows("|")
    program = Program(history, spinner)
    program.timers.advance(1)
    drawn = history.drawn

    spinner.rows = ["/"]
    program.tui.request_component_render(spinner)

    (written,) = program.writes()
    assert (program.shown(), history.drawn - drawn, len(written) < 60) == (
        ["history", "/"],
        0,
        True,
    )


def test_a_full_render_request_overrides_a_partial_one() -> None:
    history, spinner = Rows("history"), Rows("|")
    program = Program(history, spinner)

    program.tui.request_component_render(spinner)
    history.rows = ["changed"]
    program.tui.request_render()

    assert program.shown() == ["changed", "|"]


def test_an_overlay_covers_other_components_and_receives_the_keys() -> None:
    editor, dialog = Field(), Field("dialog")
    program = Program(Rows(*"abcd"), editor)
    program.tui.set_focus(editor)

    program.tui.show_overlay(dialog, OverlayOptions(width=10, row=1, col=2))
    program.terminal.type("x")
    assert program.shown()[1:3] == ["b dialog", "c > x"]
    program.tui.hide_overlay()
    program.terminal.type("y")

    assert program.shown() == ["a", "b", "c", "d", "> y"]


@pytest.mark.behaviour("cursor-at-the-insertion-point")
def test_the_hardware_cursor_follows_the_caret_of_the_overlay() -> None:
    class Caret(Rows):
        focused = False

        def render(self, width: int) -> list[str]:
            return [f"ab{CURSOR_MARKER}" if self.focused else "ab"]

    program = Program(Rows("x", "y", "z"))
    program.tui.show_overlay(Caret(), OverlayOptions(width=4, row=1, col=3))
    program.timers.advance(1)

    assert program.terminal.cursor == (5, 1)


async def test_the_tui_runs_on_the_event_loop() -> None:
    typed = asyncio.Event()

    class ReleaseField(Field):
        def render(self, width: int) -> list[str]:
            if self.typed == ["h", "i"]:
                typed.set()
            return super().render(width)

    terminal, field = VirtualTerminal(20, 5), ReleaseField()
    tui = TUI(terminal, env={}, strict=True)
    tui.add_child(field)
    tui.set_focus(field)

    with tui:
        terminal.type("hi")
        async with asyncio.timeout(30):
            await typed.wait()

    assert (terminal.screen[0], terminal.mode(2004)) == ("> hi", False)

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from pi.testing.virtual_terminal import VirtualTerminal
from pi.tui.component import CURSOR_MARKER
from pi.tui.input_pump import InputDecision
from pi.tui.placement import OverlayOptions
from pi.tui.tui import TUI
from tests.tui.manual_timers import ManualTimers
from tests.tui.parts import Field, Rows, numbered


class Program:
    """A program on a virtual terminal, with time in the hands of the test."""

    def __init__(
        self, *children: Rows, env: Mapping[str, str] | None = None, replies: bool = False
    ) -> None:
        self.timers = ManualTimers()
        self.terminal = VirtualTerminal(20, 6, replies=replies)
        self.gone = False
        self.tui = TUI(self.terminal, env=env or {}, strict=True, on_gone=self._end)
        for child in children:
            self.tui.add_child(child)
        self.tui.start(self.timers)

    def _end(self) -> None:
        self.gone = True

    def shown(self) -> list[str]:
        self.timers.advance(0.5)
        return [row for row in self.terminal.screen if row]

    def writes(self) -> list[str]:
        """What is written from now until half a second later."""
        before = len(self.terminal.output)
        self.timers.advance(0.5)
        return self.terminal.output[before:]


def test_components_are_shown_and_changes_are_painted() -> None:
    rows = Rows("hello")
    program = Program(rows)
    assert program.shown() == ["hello"]

    rows.rows = ["hello", "world"]
    program.tui.request_render()

    assert program.shown() == ["hello", "world"]


def test_children_come_and_go() -> None:
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


def test_it_tells_whether_everything_is_painted() -> None:
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


@pytest.mark.trap(183)
def test_several_keys_in_one_read_are_all_handled_before_one_frame() -> None:
    field = Field()
    program = Program(field)
    program.tui.set_focus(field)
    program.timers.advance(1)

    program.terminal.type("hello")

    assert len(program.writes()) == 1
    assert program.shown() == ["> hello"]


def test_key_releases_are_for_those_who_ask() -> None:
    class Piano(Field):
        wants_key_release = True

    field, piano = Field(), Piano()
    program = Program(field, piano)

    program.tui.set_focus(field)
    program.terminal.type("\x1b[97;1:3u")
    program.tui.set_focus(piano)
    program.terminal.type("\x1b[97;1:3u")

    assert (field.typed, piano.typed) == ([], ["\x1b[97;1:3u"])


def test_a_listener_sees_keys_first() -> None:
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


@pytest.mark.trap(190)
def test_replies_of_the_terminal_are_not_typed() -> None:
    field = Field()
    program = Program(field, replies=True)
    program.tui.set_focus(field)

    program.terminal.type("\x1b]11;rgb:ffff/ffff/ffff\x07\x1b[?997;1n\x1b[<0;3;3M")
    program.tui.request_render()

    assert (program.shown(), field.typed) == ([">"], [])


def test_the_terminals_answers_change_what_is_written() -> None:
    rows = Rows("a")
    program = Program(rows)
    program.terminal.type("\x1b[?2026;2$y")

    rows.rows = ["b"]
    program.tui.request_render()

    assert [text[:8] for text in program.writes()] == ["\x1b[?2026h"]


def test_the_background_can_be_asked_for() -> None:
    program = Program()
    known: list[str] = []

    program.tui.query_background(lambda: known.append(program.tui.appearance.scheme))
    program.terminal.type("\x1b[?62c")
    program.terminal.type("\x1b]11;rgb:ff/ff/ff\x07\x1b[?62c")

    assert known == ["light"]


@pytest.mark.trap(177)
def test_a_screen_on_which_nothing_happens_is_left_in_peace() -> None:
    program = Program(Rows("a"), replies=True)
    program.timers.advance(1)
    before = len(program.terminal.output)

    program.timers.advance(600)

    assert program.terminal.output[before:] == []


@pytest.mark.trap(169)
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


def test_a_request_for_everything_beats_one_for_a_part() -> None:
    history, spinner = Rows("history"), Rows("|")
    program = Program(history, spinner)

    program.tui.request_component_render(spinner)
    history.rows = ["changed"]
    program.tui.request_render()

    assert program.shown() == ["changed", "|"]


def test_an_overlay_lies_over_the_rest_and_takes_the_keys() -> None:
    editor, dialog = Field(), Field("dialog")
    program = Program(Rows(*"abcd"), editor)
    program.tui.set_focus(editor)

    program.tui.show_overlay(dialog, OverlayOptions(width=10, row=1, col=2))
    program.terminal.type("x")
    assert program.shown()[1:3] == ["b dialog", "c > x"]
    program.tui.hide_overlay()
    program.terminal.type("y")

    assert program.shown() == ["a", "b", "c", "d", "> y"]


@pytest.mark.trap(156)
def test_a_resize_is_painted_once_when_it_is_settled() -> None:
    program = Program(Rows(*numbered(20)))
    program.timers.advance(1)

    for columns in (30, 40, 50, 20):  # a drag that ends where it began
        program.terminal.resize(columns, 6)
        program.tui.request_render()
        program.tui.render_now()

    written = program.writes()
    assert ([text.count("\x1b[3J") for text in written], program.terminal.tape) == (
        [1],
        numbered(20),
    )


@pytest.mark.trap(156)
def test_a_resize_inside_a_pane_replays_nothing() -> None:
    program = Program(Rows(*numbered(20)), env={"TERM": "tmux-256color"})
    program.timers.advance(1)

    program.terminal.resize(20, 4)

    (written,) = program.writes()
    assert ("\x1b[3J" in written, "\x1b[2J" in written, "row 0" in written) == (False,) * 3
    assert program.terminal.tape == numbered(20)


@pytest.mark.trap(156)
def test_a_pane_is_painted_only_when_tmux_has_told_of_every_size() -> None:
    program = Program(Rows(*numbered(20)), env={"TMUX": "1"})
    program.timers.advance(1)
    before = len(program.terminal.output)

    program.terminal.resize(20, 4)
    program.timers.advance(0.25)  # as long as tmux keeps the next size to itself

    assert program.terminal.output[before:] == []
    assert len(program.writes()) == 1


@pytest.mark.trap(153, 156)
def test_what_a_pane_took_at_a_size_of_which_it_had_not_told_is_written_again() -> None:
    rows = Rows(*numbered(20))
    program = Program(rows, env={"TMUX": "1"})
    program.terminal.type("\x1b[8;6;20t")

    rows.rows = numbered(24)
    program.tui.request_render()
    program.timers.advance(0.02)
    program.terminal.type("\x1b[8;4;20t")
    program.terminal.resize(20, 4)

    (written,) = program.writes()
    assert [f"row {number}" in written for number in (15, 16, 23)] == [False, True, True]


def test_another_session_erases_history_outside_of_panes() -> None:
    rows = Rows(*numbered(20))
    program = Program(rows)

    rows.rows = ["new"]
    program.tui.request_render(clear_scrollback=True)

    assert (program.shown(), program.terminal.history) == (["new"], [])


def test_another_session_inside_a_pane_is_written_below() -> None:
    rows = Rows(*numbered(9))
    program = Program(rows, env={"TMUX": "1"})

    rows.rows = [f"new {number}" for number in range(8)]
    program.tui.request_render(clear_scrollback=True)
    program.timers.advance(1)

    assert program.terminal.tape == [*numbered(3), *rows.rows]


def test_a_fresh_display_makes_components_forget() -> None:
    rows = Rows("a")
    program = Program(rows)

    program.tui.reset_display()

    assert (rows.forgotten, program.shown()) == (1, ["a"])


def test_forcing_repairs_the_window() -> None:
    program = Program(Rows("a", "b"))
    program.terminal.write("\rgarbage")

    program.tui.request_render(force=True)

    assert program.shown() == ["a", "b"]


@pytest.mark.trap(164)
def test_stopping_paints_the_last_frame_and_gives_the_terminal_back() -> None:
    rows = Rows("a")
    program = Program(rows)
    rows.rows = ["a", "last"]
    program.tui.request_render()

    program.tui.stop()
    program.tui.stop()

    assert [row for row in program.terminal.screen if row] == ["a", "last"]
    assert program.terminal.output[-1] == "\x1b[?7h\x1b[<u\r\r\n\x1b[?25h\x1b[?2004l"
    assert (program.terminal.cursor, program.terminal.mode(2004)) == ((0, 2), False)
    assert program.writes() == []


@pytest.mark.trap(166)
def test_a_terminal_that_is_gone_ends_everything() -> None:
    rows = Rows("a")
    program = Program(rows)

    program.terminal.vanish()
    rows.rows = ["b"]
    program.tui.request_render()

    assert (program.gone, program.writes()) == (True, [])


@pytest.mark.trap(166)
def test_no_frame_is_written_while_the_last_one_is_not_taken() -> None:
    rows = Rows("a")
    program = Program(rows)
    program.terminal.backlog = 1

    for number in range(50):
        rows.rows = [str(number)]
        program.tui.request_render()
        assert program.writes() == []
    program.terminal.backlog = 0

    assert len(program.writes()) == 1


@pytest.mark.trap(167)
def test_after_a_suspend_the_window_is_shown_again() -> None:
    program = Program(Rows(*numbered(10)))
    program.timers.advance(1)

    program.tui.suspend()

    assert program.terminal.suspended == 1
    assert program.terminal.mode(2004)
    assert program.terminal.tape[-12:] == [*numbered(6, first=4), *numbered(6, first=4)]


@pytest.mark.trap(197)
def test_the_hardware_cursor_follows_the_caret_of_the_overlay() -> None:
    class Caret(Rows):
        focused = False

        def render(self, width: int) -> list[str]:
            return [f"ab{CURSOR_MARKER}" if self.focused else "ab"]

    program = Program(Rows("x", "y", "z"))
    program.tui.show_overlay(Caret(), OverlayOptions(width=4, row=1, col=3))
    program.timers.advance(1)

    assert program.terminal.cursor == (5, 1)


async def test_it_runs_on_the_event_loop() -> None:
    typed = asyncio.Event()

    class Telling(Field):
        def render(self, width: int) -> list[str]:
            if self.typed == ["h", "i"]:
                typed.set()
            return super().render(width)

    terminal, field = VirtualTerminal(20, 5), Telling()
    tui = TUI(terminal, env={}, strict=True)
    tui.add_child(field)
    tui.set_focus(field)

    with tui:
        terminal.type("hi")
        async with asyncio.timeout(30):
            await typed.wait()

    assert (terminal.screen[0], terminal.mode(2004)) == ("> hi", False)

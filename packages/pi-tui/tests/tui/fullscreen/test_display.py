from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.fullscreen.display import FullscreenDisplay
from pi.tui.fullscreen.scroll_view import Scrollbar, ScrollView
from pi.tui.images import protocols
from pi.tui.images.protocols import CellExtent
from pi.tui.overlays import OverlayOptions
from pi.tui.testing import VirtualTerminal
from pi.tui.text.ansi import strip_sequences
from pi.tui.text.width import slice_columns
from pi.tui.tui import TUI
from tests.tui.manual_timers import ManualTimers
from tests.tui.parts import Field, Rows, numbered

OPENING = "\x1b[?1049h\x1b[?7l\x1b[?1000h\x1b[?1002h\x1b[?1003h\x1b[?1004h\x1b[?1006h\x1b[2J\x1b[H"
CLOSING = "\x1b[?1006l\x1b[?1004l\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?7h\x1b[?1049l"


class Program:
    def __init__(self) -> None:
        self.timers = ManualTimers()
        self.terminal = VirtualTerminal(20, 6, replies=False)
        self.terminal.write("$ pi\r\n")
        self.tui = TUI(self.terminal, env={}, mode="fullscreen", strict=True)
        self.history = Rows(*numbered(20))
        self.scroll = ScrollView(self.history, follow="end", scrollbar="hidden")
        self.editor = Field()
        self.tui.add_child(self.scroll)
        self.tui.add_child(self.editor)
        self.tui.set_focus(self.editor)
        self.tui.start(self.timers)

    def shown(self) -> list[str]:
        self.timers.advance(0.5)
        return self.terminal.screen


def test_the_alternate_screen_is_filled() -> None:
    program = Program()

    assert (program.shown(), program.terminal.is_alternate) == (
        [*numbered(5, first=15), ">"],
        True,
    )
    assert program.terminal.output[1].startswith(OPENING)
    assert program.terminal.history == []


@pytest.mark.behaviour("exit-restores-the-terminal")
def test_the_main_screen_is_restored_unchanged() -> None:
    program = Program()

    program.tui.stop()

    assert (program.terminal.screen[0], program.terminal.is_alternate) == ("$ pi", False)
    assert CLOSING in program.terminal.output[-1]
    assert (program.terminal.mode(1000), program.terminal.mode(7)) == (False, True)


@pytest.mark.behaviour("exit-restores-the-terminal")
def test_closing_writes_nothing_if_the_alternate_screen_was_not_entered() -> None:
    display = FullscreenDisplay(VirtualTerminal(20, 5).size)

    assert display.closing() == ""


def test_exit_rows_are_printed_on_the_main_screen() -> None:
    program = Program()
    assert isinstance(program.tui.display, FullscreenDisplay)
    program.tui.display.exit_rows = lambda width: numbered(3)

    program.tui.stop()

    assert program.terminal.screen[:4] == ["$ pi", *numbered(3)]


def test_exit_rows_are_not_printed_on_suspend_or_a_temporary_stop() -> None:
    program = Program()
    display = program.tui.display
    assert isinstance(display, FullscreenDisplay)
    display.exit_rows = lambda width: ["what was said"]

    program.tui.suspend()
    program.tui.stop(for_now=True)
    assert "what was said" not in "".join(program.terminal.output)
    program.tui.start(program.timers)
    program.tui.stop()
    assert program.terminal.screen[:2] == ["$ pi", "what was said"]


@pytest.mark.behaviour("inline-images")
def test_a_picture_that_is_scrolled_out_of_view_is_hidden_once() -> None:
    program = Program()
    place = protocols.place(7, CellExtent(4, 2))
    program.history.rows = ["a", place, "", *numbered(9)]
    program.scroll.scroll_to(0)
    program.shown()
    program.tui.request_render()
    program.shown()
    assert place in program.terminal.output[-1]

    program.scroll.scroll_to(2)
    program.tui.request_render()
    program.shown()

    assert protocols.hide(7) in program.terminal.output[-1]
    program.terminal.output.clear()
    program.scroll.scroll_to(3)
    program.tui.request_render()
    program.shown()
    assert protocols.hide(7) not in "".join(program.terminal.output)


@pytest.mark.behaviour("inline-images")
def test_a_picture_that_does_not_fit_the_scroll_view_is_left_out() -> None:
    place = protocols.place(7, CellExtent(4, 3))
    scroll = ScrollView(Rows("a", place, "", "", "b"), scrollbar="hidden")

    assert scroll.render_in(10, 4) == ["a", place, "", ""]
    assert scroll.render_in(10, 3) == ["a", "", ""]


def test_only_changes_are_written() -> None:
    program = Program()
    program.shown()
    before = len(program.terminal.output)

    program.terminal.type("a")

    assert program.shown()[5] == "> a"
    assert program.terminal.output[before:] == ["\x1b[6;3Ha\x1b[6;4H"]


def test_the_wheel_scrolls_and_dragging_selects() -> None:
    program = Program()

    program.terminal.type("\x1b[<64;3;3M")
    assert program.shown()[0] == "row 12"
    program.terminal.type("\x1b[<0;1;1M\x1b[<32;3;1M")
    program.shown()
    assert program.terminal.style(0, 0)["inverse"]


def test_the_wheel_scrolls_the_primary_view_also_over_other_components() -> None:
    program = Program()
    program.shown()
    on_the_editor = "\x1b[<64;3;6M"
    program.terminal.type(on_the_editor)
    assert program.shown()[0] == "row 15"

    program.scroll.is_primary = True
    program.terminal.type(on_the_editor)
    assert program.shown()[0] == "row 12"


LETTERS = st.sampled_from(
    [*"ab ", "日", "👍", "e\u0301", "ก็", "🇩🇪", "\x1b[31mr\x1b[39m", "\x1b[1mb"]
)
ROWS = st.lists(st.lists(LETTERS, max_size=20).map("".join), max_size=8)


@given(st.lists(ROWS, min_size=1, max_size=4), st.sampled_from(["hidden", "auto", "always"]))
def test_the_screen_shows_the_components_rows(
    frames: list[list[str]], scrollbar: Scrollbar
) -> None:
    program = Program()
    content = Rows()
    view = ScrollView(content, scrollbar=scrollbar)
    program.tui.clear()
    program.tui.add_child(view)

    for rows in frames:
        content.rows = [slice_columns(row, 0, 20) for row in rows]
        program.tui.request_render()
        shown = program.shown()
        expected = (strip_sequences(row).rstrip() for row in view.render_in(20, 6))
        assert shown == list(expected)


def test_a_resize_repaints_the_whole_screen() -> None:
    program = Program()

    program.terminal.resize(30, 4)

    assert program.shown() == [*numbered(3, first=17), ">"]


def test_an_overlay_covers_the_screen_and_receives_mouse_events() -> None:
    program = Program()
    inner = ScrollView(Rows(*"abcdef"), scrollbar="hidden")

    class Window(Rows):
        def render(self, width: int) -> list[str]:
            return inner.render_in(width, 2)

        def handle_mouse(self, event: object) -> object:
            return inner.handle_mouse(event)  # type: ignore[arg-type]

    program.tui.show_overlay(Window(), OverlayOptions(width=4, row=1, col=0))
    assert [row[:4].strip() for row in program.shown()[1:3]] == ["a", "b"]
    program.terminal.type("\x1b[<65;2;2M")

    assert [row[:4].strip() for row in program.shown()[1:3]] == ["d", "e"]
    assert program.shown()[0] == "row 15"


def test_a_component_receives_the_focus_if_its_mouse_handler_requests_it() -> None:
    from pi.tui.mouse import MouseEvent, MouseResult

    class Clickable(Field):
        def handle_mouse(self, event: MouseEvent) -> MouseResult:
            return MouseResult(handled=True, focus=event.type == "click")

    program = Program()
    other = Clickable()
    program.tui.add_child(other)
    program.shown()

    program.terminal.type("\x1b[<0;1;6M\x1b[<0;1;6m")

    assert (other.focused, program.editor.focused) == (True, False)


@pytest.mark.behaviour("suspend-and-resume")
def test_the_screen_is_repainted_after_a_suspend() -> None:
    program = Program()
    program.shown()

    program.tui.suspend()

    assert (program.shown(), program.terminal.is_alternate) == (
        [*numbered(5, first=15), ">"],
        True,
    )

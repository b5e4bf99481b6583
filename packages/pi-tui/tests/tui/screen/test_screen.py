from __future__ import annotations

import re

import pytest

from pi.tui.component import CURSOR_MARKER
from pi.tui.screen.emitters import ERASE_NEXT_ROWS
from pi.tui.screen.pane_match import PaneText
from pi.tui.screen.rows import Layer
from pi.tui.screen.screen import Frame, Repaint, Screen
from pi.tui.testing import VirtualTerminal
from pi.tui.text.wrap import wrap_text
from tests.tui.parts import numbered


def frame(*rows: str, boundary: int | None = None) -> Frame:
    return Frame(rows, len(rows) if boundary is None else boundary)


class Shown:
    """A screen and the terminal it is shown on."""

    def __init__(self, columns: int = 20, rows: int = 5, *, in_pane: bool = False) -> None:
        self.terminal = VirtualTerminal(columns, rows)
        self.screen = Screen(columns, rows, strict=True, in_pane=in_pane)
        self.written = ""

    def paint(
        self,
        *rows: str,
        boundary: int | None = None,
        layers: tuple[Layer, ...] = (),
        repaint: Repaint = Repaint.CHANGES,
    ) -> list[str]:
        """Paints a frame. Returns the rows without trailing blank ones."""
        self.written = self.screen.paint(frame(*rows, boundary=boundary), layers, repaint=repaint)
        self.terminal.write(self.written)
        return "\n".join(self.terminal.tape).rstrip("\n").split("\n")


def test_the_first_frame_is_painted_below_the_shell_output() -> None:
    shown = Shown()
    shown.terminal.write("$ pi\r\n")

    assert shown.paint("a", "b") == ["$ pi", "a", "b"]


@pytest.mark.behaviour("scrollback-is-never-erased", "committed-rows-are-final")
def test_rows_become_history_once_and_in_order() -> None:
    shown = Shown()
    rows: list[str] = []
    for number in range(30):
        rows.append(f"row {number}")
        assert shown.paint(*rows, "editor") == [*rows, "editor"]
        assert "\x1b[3J" not in shown.written


@pytest.mark.behaviour("scrollback-is-never-erased")
def test_output_does_not_move_the_view_of_a_user_who_scrolled_up() -> None:
    shown = Shown()
    shown.paint(*numbered(30))
    shown.terminal.scroll_up(12)
    seen = shown.terminal.view

    shown.paint(*numbered(60))

    assert shown.terminal.view == seen


def test_rows_below_the_boundary_become_history_only_when_final() -> None:
    shown = Shown()
    live = [f"draft {number}" for number in range(10)]

    assert shown.paint("head", *live, boundary=1) == ["head", *live[-5:]]
    final = [f"final {number}" for number in range(10)]
    assert shown.paint("head", *final) == ["head", *final]


@pytest.mark.behaviour("shrinking-leaves-no-rows")
def test_empty_content_clears_the_window() -> None:
    shown = Shown()
    shown.paint("a", "b", "c")

    assert shown.paint() == [""]


@pytest.mark.behaviour("committed-rows-are-final")
def test_shrinking_into_history_leaves_history_alone() -> None:
    shown = Shown()
    shown.paint(*numbered(20))

    tape = shown.paint(*numbered(8))

    assert tape == [*numbered(15), *numbered(5, first=3)]


@pytest.mark.behaviour("committed-rows-are-final")
def test_rows_inserted_into_history_are_written_again_and_none_is_lost() -> None:
    shown = Shown()
    rows = numbered(20)
    shown.paint(*rows)

    tape = shown.paint(*rows[:12], "inserted", *rows[12:])

    assert tape == [*rows[:15], "inserted", *rows[12:]]


def test_an_overlay_never_becomes_history() -> None:
    shown = Shown()
    shown.paint(*numbered(10))
    layer = Layer(1, 0, 7, ["overlay"])

    shown.paint(*numbered(20), layers=(layer,))
    assert shown.terminal.screen[1] == "overlay"
    assert shown.paint(*numbered(20)) == numbered(20)


def test_the_same_frame_again_writes_nothing() -> None:
    shown = Shown()
    shown.paint("a", "b")

    shown.paint("a", "b")

    assert shown.written == ""


@pytest.mark.behaviour("cursor-at-the-insertion-point")
def test_the_cursor_is_at_the_marker_or_on_the_last_row_without_one() -> None:
    shown = Shown()

    shown.paint("a", f"日x{CURSOR_MARKER}", "c")
    assert (shown.terminal.cursor, CURSOR_MARKER in shown.written) == ((3, 1), False)
    shown.paint("a", "b", "c")
    assert shown.terminal.cursor == (0, 2)


def test_the_cursor_is_shown_only_on_request_and_with_a_caret() -> None:
    shown = Shown()
    shown.screen.show_cursor = True

    shown.paint(f"{CURSOR_MARKER}a")
    assert shown.written.count("\x1b[?25h") == 1
    shown.paint("a")
    assert not shown.terminal.cursor_is_visible


@pytest.mark.behaviour("synchronized-output-on-report")
def test_writes_are_bracketed_if_synchronized_output_is_supported() -> None:
    shown = Shown()
    shown.screen.synchronized = True

    shown.paint(f"a{CURSOR_MARKER}")

    assert shown.written.startswith("\x1b[?2026h\x1b[?7l")
    assert shown.written.endswith("\x1b[2G\x1b[?7h\x1b[?2026l")


def test_a_forced_repaint_writes_the_window_and_no_history() -> None:
    shown = Shown()
    shown.paint(*numbered(20))
    shown.terminal.write("\r\x1b[2Agarbage\x1b[1B\rgarbage\x1b[1B\r")

    assert shown.paint(*numbered(20), repaint=Repaint.WINDOW) == numbered(20)


def test_everything_is_erased_only_on_the_users_request() -> None:
    shown = Shown()
    shown.paint(*numbered(20))

    assert shown.paint(*numbered(9), repaint=Repaint.EVERYTHING) == numbered(9)
    assert shown.written.count("\x1b[3J") == 1


def test_leaving_puts_the_cursor_below_the_window() -> None:
    shown = Shown()
    shown.paint("a", f"{CURSOR_MARKER}b", "c")

    shown.terminal.write(shown.screen.leave() + "$")

    assert shown.terminal.screen == ["a", "b", "c", "$", ""]


def test_an_erased_window_is_painted_again_at_the_same_position() -> None:
    shown = Shown()
    shown.paint("a", f"{CURSOR_MARKER}b", "c")

    shown.terminal.write(shown.screen.leave(erased=True))

    assert shown.terminal.screen == ["", "", "", "", ""]
    assert shown.paint("a", f"{CURSOR_MARKER}b", "c") == ["a", "b", "c"]


@pytest.mark.behaviour("long-content-does-not-overflow")
def test_twenty_thousand_wide_rows_are_painted() -> None:
    shown = Shown(200, 50)
    rows = ["x" * 200 for _ in range(20_000)]

    assert len(shown.paint(*rows)) == 20_000


@pytest.mark.behaviour("resizes-are-coalesced")
def test_a_pane_that_gets_lower_keeps_every_row_once() -> None:
    shown = Shown(20, 10)
    shown.paint(*numbered(30))

    shown.terminal.resize(20, 6)
    shown.screen.resize_in_place(20, 6)

    assert shown.paint(*numbered(30), repaint=Repaint.WINDOW) == numbered(30)
    assert "\x1b[2J" not in shown.written


@pytest.mark.behaviour("resizes-are-coalesced")
def test_a_pane_that_gets_higher_keeps_every_row_once() -> None:
    shown = Shown(20, 6)
    shown.paint(*numbered(30))

    shown.terminal.resize(20, 10)
    shown.screen.resize_in_place(20, 10)

    assert shown.paint(*numbered(30), repaint=Repaint.WINDOW) == numbered(30)


@pytest.mark.behaviour("resizes-are-coalesced")
def test_no_row_of_the_next_frame_is_lost_if_a_wrapped_row_exceeds_the_pane() -> None:
    shown = Shown(68, 30, in_pane=True)
    shown.paint("x" * 67 + CURSOR_MARKER, "below")

    shown.terminal.resize(20, 3)
    shown.screen.resize_in_place(20, 3)

    assert shown.paint("one", "two", "three", repaint=Repaint.WINDOW)[-3:] == [
        "one",
        "two",
        "three",
    ]


@pytest.mark.behaviour("resizes-are-coalesced")
@pytest.mark.parametrize("columns", [10, 20])
def test_an_editor_that_a_pane_moved_into_its_history_is_painted_again(columns: int) -> None:
    screen = Screen(20, 6, strict=True, in_pane=True)
    rows = ("first", "─" * 20, "editor", "─" * 20, "footer")
    screen.paint(Frame(rows, 5, 1))
    moved = [line for row in rows for line in wrap_text(row, columns)] + [""] * 6
    above = moved.index("editor") + 1

    tape = PaneText(rows=moved[: above + 6], width=columns, height=6)
    screen.resize_in_place(columns, 6, grown=rows, pane=tape)
    narrow = tuple(row[:columns] for row in rows)
    written = screen.paint(Frame(narrow, 5, 1), repaint=Repaint.WINDOW)

    assert "editor" in written
    assert "first" not in written
    assert screen.ledger.committed == 1


@pytest.mark.behaviour("resizes-are-coalesced")
def test_an_editor_moved_into_history_during_a_frame_is_painted_again() -> None:
    screen = Screen(20, 6, strict=True, in_pane=True)
    rows = ("first", "─" * 20, "editor", "─" * 20, "footer")
    screen.paint(Frame(rows, 1, 1))
    screen.acknowledge_frame(20, 6)
    screen.paint(Frame((*rows[:-1], "other"), 1, 1))

    screen.resize_in_place(20, 3)
    written = screen.paint(Frame(rows, 1, 1), repaint=Repaint.WINDOW)

    assert ("editor" in written, screen.ledger.committed) == (True, 1)


@pytest.mark.behaviour("committed-rows-are-final", "resizes-are-coalesced")
@pytest.mark.parametrize(("columns", "rows"), [(20, 6), (9, 10), (9, 6), (30, 7)])
def test_frames_that_a_pane_took_at_another_size_are_written_again(columns: int, rows: int) -> None:
    shown = Shown(20, 10, in_pane=True)
    text = [f"{number:03} and more" for number in range(60)]
    for count in range(25, 31):
        shown.paint(*text[:count], "editor", "footer", boundary=count)
        shown.screen.acknowledge_frame(20, 10)

    shown.terminal.resize(columns, rows)
    for count in range(31, 45, 3):  # before the size is reported
        shown.paint(*text[:count], "editor", "footer", boundary=count)
        shown.screen.acknowledge_frame(columns, rows)
    wrapped = [row for line in text for row in wrap_text(line, columns)]
    shown.screen.resize_in_place(columns, rows, grown=[*text, "editor", "footer"])
    tape = shown.paint(*wrapped, "editor", repaint=Repaint.WINDOW)

    numbers = re.findall(r"\d{3}", "".join(tape))
    assert sorted(set(numbers)) == [line[:3] for line in text]
    assert tape[-1] == "editor"


def test_every_frame_in_a_pane_ends_with_a_size_query() -> None:
    shown = Shown(in_pane=True)

    written = []
    for rows in (("a",), ("a",), ("b",)):
        shown.paint(*rows)
        written.append(shown.written.endswith("\x1b[18t"))

    assert written == [True, False, True]


JOINED = "\u3000"
"""Written at the end of an empty row so that tmux joins it with the next one."""


@pytest.mark.parametrize(("boundary", "joins"), [(2, 4), (1, 0)])
def test_empty_rows_of_a_resized_pane_are_joined_unless_rows_may_still_change(
    boundary: int, joins: int
) -> None:
    screen = Screen(20, 9, strict=True, in_pane=True)
    before = Frame(("one", "two", "editor", "footer"), boundary, 2)
    screen.paint(before)
    pane = PaneText(rows=[*before.rows, *[""] * 5], width=15, height=9)
    screen.resize_in_place(15, 9, grown=before.rows, pane=pane)

    assert screen.paint(before, repaint=Repaint.WINDOW).count(JOINED) == joins


def test_joined_rows_are_separated_before_they_are_written_to() -> None:
    screen = Screen(20, 9, strict=True, in_pane=True)
    rows = ("one", "two", "editor", "footer")
    screen.paint(Frame(rows, 2, 2))
    pane = PaneText(rows=[*rows, *[""] * 5], width=15, height=9)
    screen.resize_in_place(15, 9, grown=rows, pane=pane)
    screen.paint(Frame(rows, 2, 2), repaint=Repaint.WINDOW)
    typed = screen.paint(Frame(("one", "two", "editor!", "footer"), 2, 2))
    more = screen.paint(Frame(("one", "two", "and three", "editor!", "footer"), 3, 3))
    left = screen.leave()

    assert ERASE_NEXT_ROWS not in typed
    assert more.count(ERASE_NEXT_ROWS) == 1
    assert ERASE_NEXT_ROWS not in left  # once is enough

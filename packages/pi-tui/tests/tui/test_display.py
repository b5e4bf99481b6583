from __future__ import annotations

import pytest

from pi.tui.display import RegularDisplay
from pi.tui.input.reports import MouseReport
from pi.tui.screen.history import Ledger
from pi.tui.screen.screen import Repaint
from pi.tui.terminal import Size
from tests.tui.parts import Live, Rows, numbered

SIZE = Size(columns=20, rows=5)


def painted(display: RegularDisplay, repaint: Repaint = Repaint.CHANGES) -> str:
    display.draw(None)
    return display.paint((), repaint=repaint)


def test_the_boundary_is_the_settled_end_else_the_live_start_else_the_end() -> None:
    for live, committed in (
        (Live(*numbered(20), start=2, safe=6), 6),
        (Live(*numbered(20), start=2), 2),
        (Rows(*numbered(20)), 15),
    ):
        display = RegularDisplay(SIZE, in_pane=False)
        display.root.add_child(live)

        painted(display)

        assert display.ledger == Ledger(committed=committed, top=15)


def test_rows_that_stay_in_the_window_never_become_history() -> None:
    class Editor(Rows):
        stays_in_window = True

    display = RegularDisplay(SIZE, in_pane=False)
    display.root.add_child(Rows("said"))
    display.root.add_child(Editor(*numbered(8)))

    painted(display)

    assert display.ledger == Ledger(committed=1, top=4)


@pytest.mark.behaviour("resizes-are-coalesced")
def test_a_resize_repaints_everything_outside_a_pane_and_the_window_inside() -> None:
    outside, inside = (RegularDisplay(SIZE, in_pane=pane) for pane in (False, True))

    assert outside.resize(Size(columns=9, rows=9)) is Repaint.EVERYTHING
    assert inside.resize(Size(columns=9, rows=9)) is Repaint.WINDOW
    assert (outside.reset(), inside.reset()) == (Repaint.EVERYTHING, Repaint.WINDOW)


def test_new_content_in_a_pane_includes_a_single_changed_history_row() -> None:
    display = RegularDisplay(SIZE, in_pane=True)
    display.root.add_child(Rows("header", "", "said before", *numbered(5)))
    painted(display)

    display.root.clear()
    display.root.add_child(Rows("header", "", "New session", "editor"))
    written = painted(display, display.reset())

    assert ("New session" in written, display.ledger) == (True, Ledger())  # the whole block


def test_only_the_window_is_painted_after_a_resume() -> None:
    display = RegularDisplay(SIZE, in_pane=False)
    display.root.add_child(Rows(*numbered(20)))
    painted(display)

    display.closing()
    repaint = display.resume(SIZE)
    written = painted(display, repaint)

    assert (repaint, "row 14" in written, "row 15" in written) == (Repaint.WINDOW, False, True)


def test_the_regular_display_does_not_handle_the_mouse() -> None:
    display = RegularDisplay(SIZE, in_pane=False)

    report = MouseReport(action="press", button="left", x=0, y=0)

    assert (display.opening(), display.handle_mouse(report, ())) == ("", None)


class Brief(Rows):
    """Rows of which some are transient."""

    transient_rows = 3


def test_rows_pushed_out_by_transient_rows_are_not_history_yet() -> None:
    display = RegularDisplay(SIZE, in_pane=False)
    display.root.add_child(Rows(*numbered(6)))
    editor, dialog = Rows("editor"), Brief(*numbered(4, 90))

    display.root.add_child(editor)
    painted(display)
    before = display.ledger
    display.root.remove_child(editor)
    display.root.add_child(dialog)
    painted(display)
    during = display.ledger
    display.root.remove_child(dialog)
    display.root.add_child(editor)
    painted(display)

    assert before == display.ledger == Ledger(committed=2, top=2)
    assert during == Ledger(committed=2, top=5)


def test_transient_rows_do_not_delay_other_history() -> None:
    display = RegularDisplay(SIZE, in_pane=False)
    display.root.add_child(Rows(*numbered(20)))
    display.root.add_child(Brief(*numbered(4)))

    painted(display)

    assert display.ledger == Ledger(committed=16, top=19)

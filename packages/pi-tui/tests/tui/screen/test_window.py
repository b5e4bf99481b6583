from __future__ import annotations

from pi.tui.screen.history import Window, disturbed, found_at
from pi.tui.screen.rows import Caret


def test_a_new_window_has_one_blank_row_with_the_cursor() -> None:
    window = Window()

    assert (window.rows, window.cursor, window.is_trusted) == ([""], Caret(0, 0), False)


def test_the_cursor_moves_to_a_found_window_via_the_top_of_the_screen() -> None:
    top, below = found_at(0, height=5), found_at(2, height=5)

    assert (len(top.rows), top.cursor, top.cursor_move) == (5, Caret(0, 0), "\x1b[5A")
    assert (len(below.rows), below.cursor, below.cursor_move) == (3, Caret(0, 0), "\x1b[5A\x1b[2B")


def test_rows_that_may_have_returned_from_history_are_excluded_from_the_window() -> None:
    window = Window(10)
    window.cursor = Caret(7, 0)

    assert len(disturbed(window, before=10, height=10).rows) == 8
    assert len(disturbed(window, before=10, height=13).rows) == 8
    assert len(disturbed(window, before=10, height=2).rows) == 1

from __future__ import annotations

from pi.tui.screen.reflow import Reflowed, reflow
from pi.tui.screen.rows import Caret


def test_a_lower_screen_loses_rows_at_the_top() -> None:
    rows = [str(number) for number in range(10)]

    assert reflow(rows, Caret(9, 0), width=80, height=6) == Reflowed(cursor_row=5, pushed=4)


def test_rows_below_the_cursor_are_dropped_first() -> None:
    rows = [str(number) for number in range(10)]

    assert reflow(rows, Caret(3, 0), width=80, height=6) == Reflowed(cursor_row=3, pushed=0)


def test_a_narrower_screen_wraps_rows() -> None:
    assert reflow(["x" * 25, "", "ab"], Caret(2, 0), width=10, height=20) == Reflowed(4, 0)
    assert reflow(["x" * 25, "", "ab"], Caret(2, 0), width=10, height=4) == Reflowed(1, 1, rest=2)
    assert reflow(["x" * 25, "", "ab"], Caret(2, 0), width=10, height=2) == Reflowed(1, 1)


def test_rows_below_the_cursor_are_wrapped_and_take_space() -> None:
    rows = ["a", "b", "c", "x" * 15]

    assert reflow(rows, Caret(2, 0), width=10, height=4) == Reflowed(1, 1)
    assert reflow(rows, Caret(2, 0), below=1, width=10, height=5) == Reflowed(1, 1)


def test_a_wide_character_is_not_split_and_the_cursor_follows_its_character() -> None:
    assert reflow(["日本語", "ab"], Caret(1, 0), width=3, height=9) == Reflowed(3, 0)
    assert reflow(["x" * 10], Caret(0, 10), width=10, height=9) == Reflowed(0, 0)
    assert reflow(["日本語"], Caret(0, 6), width=5, height=9) == Reflowed(1, 0)

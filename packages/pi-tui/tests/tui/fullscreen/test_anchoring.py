from __future__ import annotations

from pi.tui.fullscreen.scroll_view import followed


def test_rows_added_below_do_not_move_the_view() -> None:
    assert followed(["a", "b"], range(1, 2), ["a", "b", "c"]) == 1


def test_the_view_follows_its_text_when_rows_above_are_added_or_removed() -> None:
    rows = ["a", "", "b", "", "c"]

    assert followed(rows, range(2, 4), ["a", "more", "", "b", "", "c"]) == 3
    assert followed(rows, range(2, 4), ["", "b", "", "c"]) == 1


def test_colours_and_trailing_blanks_are_ignored_when_rows_are_compared() -> None:
    assert followed(["a", "b  "], range(1, 2), ["new", "\x1b[1ma\x1b[22m", "\x1b[3mb\x1b[23m"]) == 2


def test_equal_rows_are_distinguished_by_their_order() -> None:
    assert followed(["x", "y", "x", "z"], range(2, 3), ["new", "x", "y", "x", "z"]) == 3


def test_the_view_follows_the_next_row_when_its_first_row_is_removed() -> None:
    assert followed(["a", "old", "b"], range(1, 3), ["a", "1", "2", "3", "b"]) == 3


def test_the_offset_is_unchanged_if_the_text_is_removed() -> None:
    assert followed(["a", "b"], range(1, 2), ["c", "d", "e"]) == 1


def test_a_view_at_the_top_stays_there() -> None:
    assert followed(["a", "b"], range(2), ["new", "a", "b"]) == 0
    assert followed([], range(0), ["a"]) == 0

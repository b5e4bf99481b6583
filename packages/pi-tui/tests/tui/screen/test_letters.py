from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pi.tui.screen.reflow import TextPosition, UnwrappedText, index_after, letters, tail

ROWS = ["│ one, │", "", "─────", "two 🙂!", "three"]


def test_only_letters_and_digits_are_compared() -> None:
    assert letters("\x1b[31m│ a-1 日\u0301 🙂 │\x1b[0m") == "a1日"
    assert UnwrappedText(ROWS).text == "onetwothree"


def test_a_place_consists_of_preceding_letters_and_following_blank_rows() -> None:
    rows = UnwrappedText(ROWS)

    assert [rows.position(row) for row in range(6)] == [
        TextPosition(0),
        TextPosition(3, 0, tail=", │"),
        TextPosition(3, 1, tail=", │"),
        TextPosition(3, 2, tail=", │"),
        TextPosition(6, 0, tail="🙂!"),
        TextPosition(11, 0),
    ]


def test_a_place_may_be_in_the_middle_of_a_row() -> None:
    assert UnwrappedText(ROWS).row(TextPosition(4)) == (3, 1)
    assert UnwrappedText(ROWS).row_end(4) == 6
    assert UnwrappedText(ROWS).row_end(99) == 11


def test_a_place_with_too_many_blank_rows_is_limited_to_existing_ones() -> None:
    rows = UnwrappedText(ROWS)

    assert [rows.row(TextPosition(3, blanks)) for blanks in range(4)] == [
        (1, 0),
        (2, 0),
        (3, 0),
        (3, 0),
    ]
    assert rows.row(TextPosition(11, 5)) == (5, 0)


def test_the_nearest_of_several_equal_matches_is_found() -> None:
    rows = UnwrappedText(["twelve letters"] * 3)

    assert [rows.find("", "twelveletters", near=near) for near in (0, 15, 99)] == [0, 13, 26]
    assert rows.find("twelve", "lettersx", near=0) is None
    assert rows.find("", "twelve", near=0) is None  # too short to be sure


def test_the_weight_of_a_text_does_not_depend_on_the_order_of_its_letters() -> None:
    text = UnwrappedText(["onetwo", "two", "one", "onetwp"])

    assert text.weight(0, 6) == text.weight(6, 12) != text.weight(12, 18)


def test_the_tail_is_the_text_after_the_last_letter() -> None:
    assert (tail("one, "), tail("two\x1b[0m."), tail("…"), tail("")) == (",", ".", "…", "")


def test_index_after_skips_the_letters_and_their_tail() -> None:
    assert index_after("one, (two", 3) == 3
    assert index_after("one, (two", 3, tail=",") == 5
    assert index_after("one", 9) == 3


@given(st.lists(st.text("ab ─"), max_size=8), st.integers(0, 8))
def test_the_row_of_the_place_before_a_row_is_that_row(rows: list[str], row: int) -> None:
    row = min(row, len(rows))
    found = UnwrappedText(rows)

    assert found.row(found.position(row)) == (row, 0)

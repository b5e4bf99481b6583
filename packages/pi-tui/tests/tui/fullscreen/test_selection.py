from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.fullscreen.scroll_view import (
    TextSelection,
    marked,
    selected_text,
    word_at,
)
from pi.tui.text.ansi import strip_sequences

ROWS = ["first row  ", "\x1b[31m日本語\x1b[0m", "third"]


def test_a_selection_has_the_same_text_in_both_directions() -> None:
    forward = TextSelection(anchor=(0, 6), head=(2, 1))
    backward = TextSelection(anchor=(2, 1), head=(0, 6))

    assert selected_text(ROWS, forward) == "row\n日本語\nth"
    assert selected_text(ROWS, backward) == selected_text(ROWS, forward)


def test_a_selection_inside_one_row_returns_its_text() -> None:
    assert selected_text(ROWS, TextSelection(anchor=(0, 0), head=(0, 4))) == "first"


def test_a_selection_beyond_the_end_is_truncated_to_the_text() -> None:
    assert selected_text(ROWS, TextSelection(anchor=(2, 2), head=(9, 9))) == "ird"


@pytest.mark.parametrize(
    ("column", "text"),
    [(0, "see"), (3, ""), (5, "~/a-b/c_d.py"), (18, "日本"), (19, "日本"), (23, ""), (99, "")],
)
def test_the_word_at_a_cell_is_found(column: int, text: str) -> None:
    rows = ["see \x1b[1m~/a-b/c_d.py\x1b[22m: 日本. (x)"]
    found = word_at(rows, 0, column)

    assert (selected_text(rows, found) if found else "") == text
    assert word_at(rows, 7, column) is None


def test_marked_columns_are_shown_in_reverse() -> None:
    assert marked("abcd", 1, 3) == "a\x1b[7mbc\x1b[27md"


@given(st.text("ab ", max_size=10), st.integers(0, 12), st.integers(0, 12))
def test_highlighting_a_selection_does_not_change_the_text(row: str, start: int, end: int) -> None:
    shown = strip_sequences(marked(row, min(start, end), max(start, end)))

    assert shown == row

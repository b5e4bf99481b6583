from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.screen.rows import Layer, composite
from pi.tui.text.ansi import strip_sequences
from pi.tui.text.width import visible_width


def plain(rows: list[str]) -> list[str]:
    return [strip_sequences(row) for row in rows]


def test_a_layer_covers_a_part_of_the_rows() -> None:
    rows = composite(["0123456789", "short"], [Layer(0, 3, 4, ["ab", "cd"])], width=10)

    assert plain(rows) == ["012ab  789", "shocd  "]


def test_rows_are_added_as_far_as_a_layer_reaches() -> None:
    assert plain(composite(["a"], [Layer(2, 1, 2, ["xy"])], width=5)) == ["a", "", " xy"]


@pytest.mark.behaviour("overlay-on-a-wide-cell")
def test_a_layer_that_begins_inside_a_wide_cell_keeps_its_border() -> None:
    rows = composite(["日本語日本"], [Layer(0, 1, 4, ["|ab|"])], width=10)

    assert plain(rows) == [" |ab| 日本"]


def test_styles_of_the_row_below_do_not_affect_the_layer() -> None:
    (row,) = composite(["\x1b[31m012345"], [Layer(0, 2, 2, ["ab"])], width=6)

    assert row.index("\x1b[0m") < row.index("ab")
    assert row.endswith("\x1b[31m45\x1b[39m")


@given(
    st.lists(st.text("a日👍 ", max_size=6), max_size=4),
    st.integers(0, 3),
    st.integers(0, 11),
    st.integers(1, 8),
    st.lists(st.text("b本", max_size=6), max_size=3),
)
def test_no_row_gets_wider_than_the_screen(
    rows: list[str], row: int, column: int, width: int, lines: list[str]
) -> None:
    width = min(width, 12 - column)
    covered = composite(rows, [Layer(row, column, width, lines)], width=12)

    assert all(visible_width(line) <= 12 for line in covered)

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.text.ansi import strip_sequences
from pi.tui.text.width import visible_width
from pi.tui.widgets.markdown.draw import draw_table, shrink
from pi.tui.widgets.markdown.nodes import MarkdownStyle, MarkdownTheme, Table
from pi.tui.widgets.markdown.parse import parse

PLAIN = MarkdownStyle(theme=MarkdownTheme(bold=str, underline=str))


def table(source: str) -> Table:
    [placed] = parse(source)
    assert isinstance(placed.block, Table)
    return placed.block


SMALL = table("| a | bb | c |\n|---|:-:|--:|\n| 日本 | x | 1 |\n| y | | 22 |\n")
WIDE = table("| name | what |\n|--|--|\n| one | words that need room |\n| two | few |\n")


def test_a_table_that_fits_has_the_width_of_its_cells() -> None:
    assert draw_table(SMALL, 40, PLAIN) == [
        "┌──────┬────┬────┐",
        "│ a    │ bb │  c │",
        "├──────┼────┼────┤",
        "│ 日本 │ x  │  1 │",
        "│ y    │    │ 22 │",
        "└──────┴────┴────┘",
    ]


@pytest.mark.behaviour("tables-and-lists")
def test_the_widest_column_shrinks_and_its_cells_wrap() -> None:
    assert draw_table(WIDE, 22, PLAIN) == [
        "┌──────┬─────────────┐",
        "│ name │ what        │",
        "├──────┼─────────────┤",
        "│ one  │ words that  │",
        "│      │ need room   │",
        "├──────┼─────────────┤",
        "│ two  │ few         │",
        "└──────┴─────────────┘",
    ]


@pytest.mark.behaviour("tables-and-lists")
def test_rows_are_stacked_if_the_columns_do_not_fit() -> None:
    assert draw_table(WIDE, 12, PLAIN) == [
        "name: one",
        "what: words",
        "that need",
        "room",
        "────────────",
        "name: two",
        "what: few",
    ]


def test_a_table_without_rows_shows_its_head() -> None:
    head = table("| a | b |\n|--|--|\n")

    assert draw_table(head, 20, PLAIN) == ["┌───┬───┐", "│ a │ b │", "└───┴───┘"]
    assert draw_table(head, 8, PLAIN) == ["a: ", "b: "]


@pytest.mark.behaviour("styles-close-on-each-line")
def test_a_wrapped_cell_does_not_colour_its_neighbours() -> None:
    bold = table("| a | b |\n|--|--|\n| **some bold words** | plain |\n")

    rows = draw_table(bold, 19, MarkdownStyle())

    assert rows[3].count("\x1b[1m") == rows[3].count("\x1b[22m") == 1
    assert "\x1b[22m" in rows[3].split("│")[1]
    assert [strip_sequences(row) for row in rows[3:5]] == [
        "│ some    │ plain │",
        "│ bold    │       │",
    ]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=6), st.integers(0, 60))
def test_shrunk_columns_fit_and_narrow_ones_shrink_last(widths: list[int], room: int) -> None:
    room = max(room, len(widths))

    shrunk = shrink(widths, room)

    assert sum(shrunk) <= room
    assert all(1 <= after <= max(before, 1) for before, after in zip(widths, shrunk, strict=True))
    cut = [after for before, after in zip(widths, shrunk, strict=True) if after < before]
    assert not cut or max(shrunk) - min(cut) <= 1


@pytest.mark.behaviour("lines-fit-the-terminal")
@given(st.integers(1, 40))
def test_no_row_is_too_wide(width: int) -> None:
    assert all(visible_width(row) <= width for row in draw_table(SMALL, width, PLAIN))


@pytest.mark.behaviour("committed-rows-are-final", "tables-and-lists")
@given(st.lists(st.integers(0, 30), min_size=15, max_size=30), st.integers(20, 60))
def test_a_new_row_of_a_long_table_changes_no_row_above_it(lengths: list[int], width: int) -> None:
    rows = [f"| {number} | {'w ' * length}|" for number, length in enumerate(lengths)]
    source = ["| a | b |", "|---|---|", *rows]

    longer = draw_table(table("\n".join(source)), width, PLAIN)
    shorter = draw_table(table("\n".join(source[:-1])), width, PLAIN)

    assert longer[: len(shorter) - 1] == shorter[:-1]


def test_a_later_row_that_needs_more_room_begins_a_wider_grid() -> None:
    few = "| a | b |\n|---|---|\n" + "| x | y |\n" * 12

    assert draw_table(table(few + "| wide | y |\n| x | y |\n"), 20, PLAIN)[-6:] == [
        "│ x │ y │",
        "└───┴───┘",
        "┌──────┬───┐",
        "│ wide │ y │",
        "│ x    │ y │",
        "└──────┴───┘",
    ]


def test_a_grid_of_full_width_is_not_replaced_by_a_wider_one() -> None:
    many = "| a | b |\n|---|---|\n" + "| some words | yes |\n" * 12

    assert draw_table(table(many + "| x | no way |\n"), 16, PLAIN)[-4:] == [
        "├────────┼─────┤",
        "│ x      │ no  │",
        "│        │ way │",
        "└────────┴─────┘",
    ]

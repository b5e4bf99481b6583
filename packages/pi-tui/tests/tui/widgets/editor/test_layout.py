from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.text.width import visible_width
from pi.tui.widgets.editor.buffer import Position
from pi.tui.widgets.editor.layout import Layout, Row, _wrap_units, wrap_line
from pi.tui.widgets.editor.text_units import PasteMarkers, TextUnits

TEXTS = st.text("ab c日é\u0301👍", max_size=30)


def wrapped(line: str, width: int, units: TextUnits | None = None) -> list[str]:
    return [line[start:end] for start, end in wrap_line(line, width, units or TextUnits())]


@pytest.mark.parametrize(
    ("line", "width", "rows"),
    [
        ("", 5, [""]),
        ("hello", 5, ["hello"]),
        ("hello world", 7, ["hello ", "world"]),
        ("foo bar baz", 7, ["foo bar ", "baz"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("ab  cdef", 4, ["ab  ", "cdef"]),
        ("foo bar ", 7, ["foo bar ", ""]),
        ("a bcdefgh", 4, ["a ", "bcde", "fgh"]),
    ],
)
def test_lines_break_after_blanks_or_inside_long_words(
    line: str, width: int, rows: list[str]
) -> None:
    assert wrapped(line, width) == rows


@pytest.mark.behaviour("wide-text-wraps")
@pytest.mark.parametrize(
    ("line", "width", "rows"),
    [
        ("日本語日本語", 5, ["日本", "語日", "本語"]),
        ("abc日本語", 6, ["abc日", "本語"]),
        ("see 日本", 6, ["see 日", "本"]),
        ("日", 1, ["日"]),
    ],
)
def test_lines_break_between_wide_characters_and_do_not_overflow(
    line: str, width: int, rows: list[str]
) -> None:
    assert wrapped(line, width) == rows


@pytest.mark.behaviour("paste-markers-are-atomic")
def test_a_marker_is_never_broken() -> None:
    markers = PasteMarkers()
    marker = markers.shorten("x" * 2000)

    assert wrapped(f"some words {marker} more", 24, TextUnits(markers.spans)) == [
        "some words ",
        f"{marker} ",
        "more",
    ]


@given(TEXTS, st.integers(1, 12))
def test_rows_without_a_trailing_blank_fit_the_width_and_join_to_the_line(
    line: str, width: int
) -> None:
    rows = wrapped(line, width)

    assert "".join(rows) == line
    assert all(visible_width(row.removesuffix(" ")) <= max(width, 2) for row in rows)


@given(st.text("ab c", max_size=30), st.integers(1, 12))
def test_the_ascii_fast_path_wraps_like_the_general_algorithm(line: str, width: int) -> None:
    assert wrap_line(line, width, TextUnits()) == _wrap_units(list(line), width)


def test_positions_are_mapped_to_cells_and_back() -> None:
    lines = ["foo bar baz", "x"]
    layout = Layout(TextUnits())
    layout.update(lines, 7)

    assert [layout.row(number) for number in range(layout.height)] == [
        Row(0, 0, 8),
        Row(0, 8, 11),
        Row(1, 0, 1),
    ]
    assert [layout.row_of(Position(0, col)) for col in (0, 7, 8, 11)] == [0, 0, 1, 1]
    assert layout.column_of(Position(0, 9)) == 1
    assert layout.position_at(0, 99) == Position(0, 7)
    assert layout.position_at(1, 99) == Position(0, 11)
    assert layout.position_at(9, 0) == Position(1, 0)


@given(st.lists(TEXTS, min_size=1, max_size=4), st.integers(1, 8), st.data())
def test_the_cell_of_a_position_maps_back_to_the_same_cell(
    lines: list[str], width: int, data: st.DataObject
) -> None:
    units = TextUnits()
    layout = Layout(units)
    layout.update(lines, width)
    row = data.draw(st.integers(0, len(lines) - 1))
    col = units.border(lines[row], data.draw(st.integers(0, len(lines[row]))))
    place = Position(row, col)

    number, column = layout.row_of(place), layout.column_of(place)
    found = layout.position_at(number, column)

    assert layout.row_of(found) == number
    assert layout.column_of(found) == column


LINES = st.lists(
    st.sampled_from(["", "one", "two words", "日本語 and more", "a b c d e"]), min_size=1
)


@given(st.lists(st.tuples(LINES, st.sampled_from([3, 8])), min_size=1, max_size=5))
def test_an_updated_layout_equals_a_new_one(steps: list[tuple[list[str], int]]) -> None:
    updated = Layout(TextUnits())
    for lines, width in steps:
        updated.update(lines, width)
        fresh = Layout(TextUnits())
        fresh.update(lines, width)
        assert [updated.row(number) for number in range(updated.height)] == [
            fresh.row(number) for number in range(fresh.height)
        ]

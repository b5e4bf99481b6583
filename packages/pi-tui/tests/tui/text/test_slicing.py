from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.text.ansi import strip_sequences
from pi.tui.text.width import (
    grapheme_width,
    graphemes,
    pad_to_width,
    slice_columns,
    truncate_to_width,
    visible_width,
)
from tests.tui.text.samples import plain_line, styled_line
from tests.tui.text.test_ansi import state_after

LINES = st.one_of(plain_line, styled_line)
COLUMNS = st.integers(min_value=0, max_value=50)


@pytest.mark.parametrize(
    ("text", "start", "width", "expected"),
    [
        ("hello", 1, 3, "ell"),
        ("hello", 4, 9, "o"),
        ("hello", 9, 3, ""),
        ("日本語", 0, 4, "日本"),
        ("日本語", 2, 2, "本"),
        ("a\tb", 0, 3, "a  "),
        ("\x1b[31mabc\x1b[0mdef", 1, 4, "\x1b[31mbc\x1b[39mde"),
        ("\x1b[31mabc", 3, 4, ""),
        ("ab\x1b_pi:c\x07cd", 0, 2, "ab"),
        ("ab\x1b_pi:c\x07cd", 2, 2, "\x1b_pi:c\x07cd"),
        ("ab\x1b_pi:c\x07", 0, 2, "ab\x1b_pi:c\x07"),
    ],
)
def test_slice_columns_returns_the_requested_columns(
    text: str, start: int, width: int, expected: str
) -> None:
    assert slice_columns(text, start, width) == expected


@pytest.mark.behaviour("overlay-on-a-wide-cell")
def test_a_wide_character_that_is_cut_becomes_blank() -> None:
    cuts = [slice_columns("日本語", 1, width) for width in range(6)]

    assert cuts == ["", " ", "  ", " 本", " 本 ", " 本語"]


@pytest.mark.behaviour("styles-close-on-each-line")
def test_a_link_is_closed_where_the_text_is_cut() -> None:
    text = "\x1b]8;;https://example.org\x07a long link\x1b]8;;\x07"

    assert truncate_to_width(text, 5) == "\x1b]8;;https://example.org\x07a \x1b]8;;\x07..."


@given(LINES, COLUMNS, COLUMNS)
def test_a_slice_has_exactly_its_columns(text: str, start: int, width: int) -> None:
    cut = slice_columns(text, start, width)

    assert visible_width(cut) == min(width, max(visible_width(text) - start, 0))
    assert state_after(cut).opening() == ""


@given(LINES, COLUMNS, COLUMNS)
def test_a_slice_has_the_same_cells_as_the_text(text: str, start: int, width: int) -> None:
    expected = cells(text)[start : start + width]
    while expected and expected[0] == AFTER_WIDE:  # the left half was cut off
        expected[0] = " "
    if expected and start + width < len(cells(text)) and cells(text)[start + width] == AFTER_WIDE:
        expected[-1] = " "

    assert cells(slice_columns(text, start, width)) == expected


@pytest.mark.behaviour("lines-fit-the-terminal")
@given(LINES, COLUMNS)
def test_truncated_text_fits_and_padded_text_fits_exactly(text: str, width: int) -> None:
    assert visible_width(truncate_to_width(text, width)) <= width
    assert visible_width(truncate_to_width(text, width, pad=True)) == width


@pytest.mark.parametrize(
    ("width", "expected"), [(11, "hello world"), (8, "hello..."), (2, ".."), (0, ""), (-1, "")]
)
def test_a_cut_text_ends_in_the_ellipsis(width: int, expected: str) -> None:
    assert truncate_to_width("hello world", width) == expected


def test_padding_counts_columns_and_never_cuts() -> None:
    assert (pad_to_width("日本", 6), pad_to_width("日本", 3)) == ("日本  ", "日本")


AFTER_WIDE = ""


def cells(text: str) -> list[str]:
    """Returns the contents of each column; a wide grapheme is followed by ``AFTER_WIDE``."""
    row: list[str] = []
    for grapheme in graphemes(strip_sequences(text)):
        columns = grapheme_width(grapheme)
        row += [grapheme, *[AFTER_WIDE] * (columns - 1)][:columns]
    return row

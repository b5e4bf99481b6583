from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.text.width import visible_width
from pi.tui.widgets.text import Text


def brackets(text: str) -> str:
    return f"<{text}>"


def test_a_text_is_wrapped_inside_its_padding() -> None:
    assert Text("hello world").render(9) == ["", " hello", " world", ""]
    assert Text("hello world", 0, 0).render(9) == ["hello", "world"]


def test_a_background_fills_every_row() -> None:
    assert Text("日本", 1, 1, brackets).render(8) == ["<        >", "< 日本   >", "<        >"]


@pytest.mark.parametrize("text", ["", "  ", "\n\n"])
def test_a_blank_text_has_no_rows(text: str) -> None:
    assert Text(text).render(10) == []


def test_colours_are_kept_and_other_sequences_are_removed() -> None:
    text = Text("\x1b[31mred\x1b[0m\x1b]52;c;AAAA\x07\x1b[2J \x1b_pi:c\x07x", 0, 0)

    assert text.render(20) == ["\x1b[31mred\x1b[39m x"]


@pytest.mark.behaviour("line-ends-are-normalised")
def test_line_ends_and_tabs_are_normalised() -> None:
    assert Text("a\r\nb\rc\td", 0, 0).render(20) == ["a", "b", "c    d"]


def test_a_text_is_redrawn_only_if_the_text_or_background_changes() -> None:
    text = Text("a", 0, 0)
    first = text.render(5)
    text.set_text("a")
    assert text.render(5) is first

    text.set_text("b")
    text.set_background(brackets)

    assert (text.text, text.render(2)) == ("b", ["<b >"])


@pytest.mark.behaviour("lines-fit-the-terminal")
@given(st.text(max_size=40), st.integers(1, 20), st.integers(0, 6))
def test_no_row_is_too_wide(text: str, width: int, pad_x: int) -> None:
    rows = Text(text, pad_x, 1, lambda row: row).render(width)

    assert all(visible_width(row) == width for row in rows)

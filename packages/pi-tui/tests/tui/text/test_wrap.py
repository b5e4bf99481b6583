from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.text.ansi import SEQUENCE, StyleState, strip_sequences
from pi.tui.text.width import visible_width
from pi.tui.text.wrap import wrap_text
from tests.tui.text.samples import plain_line, styled_line, widths
from tests.tui.text.test_ansi import state_after


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("", 5, [""]),
        ("hello world foo bar", 7, ["hello", "world", "foo bar"]),
        ("one\n\ntwo", 5, ["one", "", "two"]),
        ("a  b     ", 3, ["a", "b  "]),
        ("      ", 3, ["   "]),
        ("    deep word", 9, ["    deep", "word"]),
        ("      far", 3, ["far"]),
        ("unbreakable", 4, ["unbr", "eaka", "ble"]),
        ("to unbreakable", 4, ["to", "unbr", "eaka", "ble"]),
        ("a\tb", 3, ["a", "b"]),
        ("any", 0, [""]),
    ],
)
def test_lines_break_at_words(text: str, width: int, lines: list[str]) -> None:
    assert wrap_text(text, width) == lines


@pytest.mark.behaviour("wide-text-wraps")
@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("日本語の文章", 5, ["日本", "語の", "文章"]),
        ("see 日本語", 8, ["see 日本", "語"]),
        ("日本語、です。", 6, ["日本", "語、で", "す。"]),
        ("「日本」と言う", 6, ["「日", "本」と", "言う"]),
        ("👨\u200d👩\u200d👧👨\u200d👩\u200d👧", 3, ["👨\u200d👩\u200d👧"] * 2),
        ("日本a", 1, ["?", "?", "a"]),
    ],
)
def test_cjk_breaks_between_characters(text: str, width: int, lines: list[str]) -> None:
    assert wrap_text(text, width) == lines


@pytest.mark.behaviour("styles-close-on-each-line")
def test_styles_and_links_are_closed_at_the_end_of_a_line_and_reopened_on_the_next() -> None:
    text = "\x1b[1mone \x1b]8;;u\x07two\x1b[0m three\x1b]8;;\x07"

    assert wrap_text(text, 5) == [
        "\x1b[1mone\x1b[22m",
        "\x1b[1m\x1b]8;;u\x07two\x1b]8;;\x07\x1b[22m",
        "\x1b]8;;u\x07three\x1b]8;;\x07",
    ]


def test_a_cursor_marker_is_never_lost() -> None:
    assert wrap_text("ab \x1b_pi:c\x07 cd\x1b_pi:c\x07", 2) == [
        "ab",
        "\x1b_pi:c\x07cd\x1b_pi:c\x07",
    ]


@pytest.mark.behaviour("long-content-does-not-overflow")
def test_a_line_of_a_million_characters_is_wrapped() -> None:
    lines = wrap_text("x" * 1_000_000, 80)

    assert (len(lines), set(map(len, lines))) == (12_500, {80})


@pytest.mark.behaviour("lines-fit-the-terminal")
@given(plain_line, widths)
def test_no_plain_line_is_too_wide(text: str, width: int) -> None:
    assert max(map(visible_width, wrap_text(text, width))) <= width


@pytest.mark.behaviour("lines-fit-the-terminal")
@given(styled_line, widths)
def test_no_styled_line_is_too_wide(text: str, width: int) -> None:
    assert max(map(visible_width, wrap_text(text, width))) <= width


@given(plain_line, widths.filter(lambda width: width > 1))
def test_wrapping_loses_no_text_except_spaces_at_line_breaks(text: str, width: int) -> None:
    rest = text
    for line in wrap_text(text, width):
        if not rest.startswith(line):
            rest = rest.lstrip(" ")
        assert rest.startswith(line)
        rest = rest.removeprefix(line)

    assert rest.strip(" ") == ""


@given(styled_line, widths.filter(lambda width: width > 1))
def test_every_character_keeps_its_style(text: str, width: int) -> None:
    lines = wrap_text(text, width)

    assert [cell for line in lines for cell in styled_cells(line)] == styled_cells(text)
    assert [state_after(line).opening() for line in lines] == [""] * len(lines)


@given(plain_line, widths)
def test_wrapping_styled_text_breaks_where_plain_text_breaks(text: str, width: int) -> None:
    styled = wrap_text(f"\x1b[1m{text}\x1b[0m", width)

    assert [strip_sequences(line) for line in styled] == wrap_text(text, width)


@given(st.text("ab  ", max_size=40), widths)
def test_the_ascii_fast_path_returns_the_same_lines(text: str, width: int) -> None:
    accented = text.replace("b", "é")

    assert wrap_text(accented, width) == [line.replace("b", "é") for line in wrap_text(text, width)]


def styled_cells(text: str) -> list[tuple[str, str]]:
    """Returns every visible character except spaces, with its styles."""
    state = StyleState()
    cells: list[tuple[str, str]] = []
    position = 0
    for found in SEQUENCE.finditer(text + "\x1b[0m"):
        shown = text[position : found.start()]
        cells += [(letter, "".join(sorted(state.opening()))) for letter in shown if letter != " "]
        state.apply(found[0])
        position = found.end()
    return cells

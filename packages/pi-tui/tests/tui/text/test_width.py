from __future__ import annotations

import subprocess
import sys

import pyghostty
import pytest
import wcwidth
from hypothesis import given

from pi.tui.text.width import (
    TAB_WIDTH,
    expand_tabs,
    grapheme_width,
    graphemes,
    is_simple,
    visible_width,
)
from tests.tui.text.samples import plain_line, styled_line

SAMPLES = {
    "plain": 5,
    "日本語": 6,
    "한글": 4,
    "각": 2,  # a syllable of three conjoining letters
    "e\u0301": 1,
    "👍🏽": 2,
    "👨\u200d👩\u200d👧": 2,
    "🏳\ufe0f\u200d🌈": 2,
    "🇩🇪": 2,
    "❤\ufe0f": 2,
    "☺": 1,
    "1\ufe0f\u20e3": 2,
    "กำ": 2,
    "ນຳ": 2,
    "नमस्ते": 4,
    "\u0627\u064b": 1,
    "\u200b": 0,
}


@pytest.mark.behaviour("widths-of-graphemes")
@pytest.mark.parametrize(("text", "width"), SAMPLES.items())
def test_the_width_of_text_is_correct_for_every_script(text: str, width: int) -> None:
    assert visible_width(text) == width


@pytest.mark.behaviour("widths-of-graphemes")
@pytest.mark.parametrize("text", SAMPLES)
def test_a_terminal_with_grapheme_support_measures_the_same_width(text: str) -> None:
    with pyghostty.Terminal(cols=40, rows=2) as terminal:
        terminal.feed(b"\x1b[?2027h" + text.encode())

        assert terminal.get("cursor_x") == visible_width(text)


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[1;31mab\x1b[0m",
        "\x1b]8;;https://example.org\x07ab\x1b]8;;\x07",
        "\x1b]8;;https://example.org\x1b\\ab\x1b]8;;\x1b\\",
        "a\x1b_pi:c\x07b",
        "\x1b_Ga=T,f=100;AAAA\x1b\\ab",
        "\x1bP0;1;0q#0~~\x1b\\ab",
        "a\x1b7\x1b(Bb",
        "a\x00\x7f\x9bb\r\n",
        "ab\x1b]0;never ended",
    ],
)
def test_sequences_and_controls_take_no_column(text: str) -> None:
    assert visible_width(text) == 2


@pytest.mark.behaviour("overlay-on-a-wide-cell")
def test_a_tab_is_as_wide_as_the_spaces_it_becomes() -> None:
    assert visible_width("a\tb") == len(expand_tabs("a\tb")) == 2 + TAB_WIDTH


def test_a_lone_surrogate_can_be_measured() -> None:
    assert visible_width("a\ud83db") in (2, 3)


def test_simple_characters_have_a_width_of_one_in_wcwidth() -> None:
    simple = [letter for letter in map(chr, range(0x3000)) if is_simple(letter)]

    assert {wcwidth.wcswidth(letter) for letter in simple} == {1}
    assert list(wcwidth.iter_graphemes("".join(simple))) == simple
    assert not any(map(is_simple, ("\x1b[1mbold", "a\tb", "字", "e\u0301", "👍")))


def test_wcwidth_is_not_imported_for_simple_text() -> None:
    program = (
        "import sys; from pi.tui.text.width import visible_width as w;"
        "sys.exit(w('\x1b[1m── “Ünïcode” → ✓\x1b[0m') != 16 or 'wcwidth' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@given(plain_line)
def test_a_text_is_as_wide_as_its_graphemes(text: str) -> None:
    parts = list(graphemes(text))

    assert "".join(parts) == text
    assert sum(map(grapheme_width, parts)) == visible_width(text)


@given(styled_line)
def test_a_very_long_line_is_measured_like_a_short_one(line: str) -> None:
    assert visible_width(line * 100 + "\x1b[0m") == visible_width(f"{line}\x1b[0m" * 100)

from __future__ import annotations

import pytest

from pi.tui.component import CURSOR_MARKER
from pi.tui.text.ansi import strip_sequences
from pi.tui.text.width import visible_width
from pi.tui.widgets.editor.layout import border, text_row
from pi.tui.widgets.editor.text_units import TextUnits


def plain(text: str) -> str:
    return text


def test_a_border_contains_a_label_or_a_note() -> None:
    assert border(12, plain) == "────────────"
    assert border(12, plain, label="Hi") == "── Hi ──────"
    assert border(12, plain, note="↑ 3") == "── ↑ 3 ─────"
    assert border(12, plain, label="a long label") == "── a lon… ──"
    assert border(7, plain, label="Hi") == "───────"


def test_the_last_parts_of_a_long_label_are_dropped_first() -> None:
    label = "\x1b[36mRetrying in 2s · 5s · esc to interrupt\x1b[39m"
    assert strip_sequences(border(60, plain, label=label)).startswith(
        "── Retrying in 2s · 5s · esc to interrupt ──"
    )
    assert strip_sequences(border(40, plain, label=label)).startswith("── Retrying in 2s · 5s ──")
    assert strip_sequences(border(16, plain, label=label)) == "── Retrying … ──"


def test_a_note_is_shown_after_the_label_if_there_is_space() -> None:
    assert border(24, plain, label="Busy", note="↑ 3 more") == "── Busy ──── ↑ 3 more ──"
    assert border(20, plain, label="Busy", note="↑ 3 more") == "── Busy ────────────"


def test_only_the_line_of_a_border_is_painted() -> None:
    assert border(12, lambda text: f"<{text}>", label="Hi") == "<── >Hi< ──────>"


@pytest.mark.behaviour("cursor-at-the-insertion-point")
def test_the_terminal_cursor_is_at_the_drawn_cursor() -> None:
    assert text_row("abc", 1, TextUnits(), width=9) == f"a{CURSOR_MARKER}\x1b[7mb\x1b[27mc"
    assert text_row("abc", 3, TextUnits(), width=9) == f"abc{CURSOR_MARKER}\x1b[7m \x1b[27m"


@pytest.mark.parametrize("text", ["abcdef", "日本語", "a日本"])
@pytest.mark.parametrize("width", range(1, 6))
def test_a_row_fits_the_width_at_every_cursor_position(text: str, width: int) -> None:
    for cursor in [None, *range(len(text) + 1)]:
        row = text_row(text, cursor, TextUnits(), width=width)
        assert visible_width(row) <= width
        assert (CURSOR_MARKER in row) is (cursor is not None)

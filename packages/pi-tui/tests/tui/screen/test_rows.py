from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.component import CURSOR_MARKER
from pi.tui.images.protocols import CellExtent, place
from pi.tui.screen.rows import (
    Caret,
    Change,
    ForeignSequence,
    LineTooWide,
    RowPrinter,
    find_caret,
    without_markers,
)
from pi.tui.testing import VirtualTerminal

PRINTER = RowPrinter(10, strict=True)


@pytest.mark.behaviour("styles-close-on-each-line")
def test_every_row_ends_its_styles_and_links() -> None:
    assert PRINTER.render("\x1b[31mred") == "\x1b[31mred\x1b[0m\x1b]8;;\x07\x1b[K"


def test_a_row_on_a_blank_line_erases_nothing() -> None:
    assert PRINTER.render("a", fresh=True) == "a\x1b[0m\x1b]8;;\x07"


def test_a_row_of_full_width_is_not_followed_by_an_erase_sequence() -> None:
    assert PRINTER.render("0123456789") == "0123456789\x1b[0m\x1b]8;;\x07"


@pytest.mark.behaviour("widths-of-graphemes")
def test_a_combining_mark_before_the_last_column_survives_a_rewrite() -> None:
    terminal = VirtualTerminal(10, 2)
    terminal.write("\x1b[?7l")
    row = "12345678\u0e01\u0e47x"

    terminal.write(PRINTER.render(row))
    terminal.write("\r" + PRINTER.render(row))

    assert terminal.screen[0] == row


@pytest.mark.behaviour("widths-of-graphemes")
def test_a_flag_is_written_correctly_over_a_wide_character() -> None:
    terminal = VirtualTerminal(10, 2)
    terminal.write("\x1b[?7l")
    old, new = "a日日日日a", "a日日日🇩🇪"

    terminal.write(PRINTER.render(old))
    column, text = PRINTER.change(old, new)
    terminal.write(f"\x1b[{column + 1}G{text}")

    assert terminal.screen[0] == new


def test_the_row_is_erased_before_a_picture_is_written() -> None:
    assert PRINTER.render(place(1, CellExtent(1, 1))).startswith("\x1b[2K\x1b_G")


def test_control_sequences_are_removed_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    row = "a\x1b]0;x\x07\x1b[2Jb"
    printer = RowPrinter(10)

    with caplog.at_level(logging.WARNING):
        assert printer.render(row, fresh=True) == "ab\x1b[0m\x1b]8;;\x07"
        assert printer.unbroken(row) == "\x1b[?7hab\x1b[0m\x1b]8;;\x07\x1b[?7l"
        assert printer.change(row, f"{row}c") == Change(2, "c")
    assert "forbidden control sequence" in caplog.text
    with pytest.raises(ForeignSequence, match="forbidden control sequence"):
        PRINTER.render(row)


@pytest.mark.behaviour("lines-fit-the-terminal")
def test_a_row_that_is_too_wide_is_cut_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        text = RowPrinter(4).render("日本語")

    assert text.startswith("日本\x1b[0m")
    assert "6 columns does not fit the width of 4" in caplog.text


@pytest.mark.behaviour("lines-fit-the-terminal")
def test_a_strict_printer_raises_for_wide_rows_and_line_breaks() -> None:
    with pytest.raises(LineTooWide, match="11 columns"):
        PRINTER.render("x" * 11)
    with pytest.raises(LineTooWide, match="line break"):
        PRINTER.render("a\nb")


def test_line_breaks_and_tabs_do_not_reach_the_terminal() -> None:
    assert RowPrinter(20).render("a\tb\r\nc", fresh=True) == "a    b c\x1b[0m\x1b]8;;\x07"


def test_only_the_changed_end_of_a_row_is_written() -> None:
    assert PRINTER.change("hello", "hello you") == Change(5, " you")
    assert PRINTER.change("hello you", "hello") == Change(5, "\x1b[K")


def test_styles_active_at_the_first_difference_are_opened_again() -> None:
    assert PRINTER.change("\x1b[31mab", "\x1b[31mabc") == Change(2, "\x1b[31mc\x1b[0m\x1b]8;;\x07")


def test_a_row_is_not_cut_inside_a_grapheme() -> None:
    assert PRINTER.change("ae", "ae\u0301").column == 1
    assert PRINTER.change("👍x", "👍y").column == 0


def test_a_row_is_not_cut_inside_a_sequence() -> None:
    old, new = (f"ab\x1b]8;;http://x/{page}\x07link\x1b]8;;\x07" for page in "12")

    assert PRINTER.change(old, new).column == 0
    assert PRINTER.change("ab\x1b[31mc", "ab\x1b[32mc").column == 0


def test_the_caret_is_where_the_marker_stands() -> None:
    assert find_caret(["a", f"日b{CURSOR_MARKER}c", "d"]) == Caret(1, 3)
    assert find_caret(["a"]) is None
    assert without_markers(f"a{CURSOR_MARKER}b") == "ab"


texts = st.text("ab 日é👍\u0301", max_size=8)
styled = st.lists(
    st.sampled_from(["\x1b[1m", "\x1b[31m", "\x1b[0m", "a", "b", "日", " ", "cd"]), max_size=8
).map("".join)


@given(styled | texts, styled | texts)
def test_writing_a_change_has_the_same_result_as_writing_the_whole_row(old: str, new: str) -> None:
    printer = RowPrinter(20)
    column, text = printer.change(old, new)
    changed, whole = VirtualTerminal(20, 1), VirtualTerminal(20, 1)

    changed.write("\x1b[?7l" + printer.render(old) + f"\x1b[{column + 1}G" + text)
    whole.write("\x1b[?7l" + printer.render(new))

    assert changed.screen == whole.screen
    assert [changed.style(x, 0) for x in range(20)] == [whole.style(x, 0) for x in range(20)]


def test_in_a_pane_a_row_that_gets_shorter_is_erased_before_it_is_written() -> None:
    printer = RowPrinter(20, erases_first=True)

    assert printer.render("ab").startswith("\x1b[2Kab")
    assert printer.change("a long row", "a row") == Change(0, printer.render("a row"))
    assert printer.change("a row", "a row and more") == Change(5, " and more")

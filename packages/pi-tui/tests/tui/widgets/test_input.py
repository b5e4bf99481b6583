from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.component import CURSOR_MARKER
from pi.tui.input.decoder import Paste
from pi.tui.text.width import visible_width
from pi.tui.widgets.input import Input

LEFT, HOME, BACKSPACE, CTRL_U, CTRL_Y, UNDO = "\x1b[D", "\x01", "\x7f", "\x15", "\x19", "\x1f"


def pressed(field: Input, *keys: str) -> Input:
    field.focused = True
    for key in keys:
        field.handle_input(key)
    return field


def shown(field: Input, width: int) -> str:
    """Returns the row, with the cursor as a bar."""
    (row,) = field.render(width)
    return re.sub(r"\x1b\[[0-9;]*m", "", row.replace(CURSOR_MARKER, "|"))


def test_text_is_shown_after_the_prompt() -> None:
    assert shown(pressed(Input(prompt="? "), *"hi"), 10) == "? hi| "


def test_the_placeholder_is_there_until_something_is_typed() -> None:
    field = Input(placeholder="name", placeholder_paint=lambda text: f"({text})")

    assert shown(field, 10) == "> (name)"
    assert shown(pressed(field), 10) == "> |(name)"
    assert shown(pressed(field, "x"), 10) == "> x| "


@pytest.mark.behaviour("cursor-at-the-insertion-point")
def test_the_cursor_is_shown_on_a_placeholder() -> None:
    field = Input(placeholder="日本")
    field.focused = True

    assert field.render(10) == [f"> {CURSOR_MARKER}\x1b[7m日\x1b[27m本"]


def test_prompts_and_placeholders_are_sanitised() -> None:
    field = Input(prompt="\x1b[1mName\x1b[0m\x1b[2J: ", placeholder="a\x1b]0;b\x07\nc")

    assert field.render(20) == ["\x1b[1mName\x1b[0m: a c"]


@pytest.mark.behaviour("wide-text-wraps")
def test_a_long_text_scrolls_by_columns() -> None:
    field = pressed(Input(), *"日本語日本語")

    assert shown(field, 9) == "> 日本語| "
    assert shown(field, 8) == ">  本語| "
    assert shown(pressed(field, HOME), 9) == "> |日本語 "


def test_the_view_moves_only_when_the_cursor_leaves_it() -> None:
    field = pressed(Input(prompt=""), *"abcdefgh")

    assert shown(field, 4) == "fgh| "
    assert shown(pressed(field, LEFT, LEFT), 4) == "f|gh"
    assert shown(pressed(field, LEFT, LEFT), 4) == "|efgh"


@pytest.mark.behaviour("wide-text-wraps")
def test_a_shortened_text_is_scrolled_back() -> None:
    field = pressed(Input(prompt="", placeholder="find"), *"0123456789")
    assert shown(field, 6) == "56789| "
    assert shown(pressed(field, BACKSPACE, BACKSPACE), 6) == "34567| "
    assert shown(pressed(field, CTRL_U), 6) == "|find"
    assert shown(pressed(field, *"abc"), 6) == "abc| "


def test_enter_submits_and_escape_cancels() -> None:
    calls = list[str]()
    field = Input(on_submit=calls.append, on_cancel=lambda: calls.append("cancelled"))

    pressed(field, "a", "\r", "\x1b", "\x03")

    assert calls == ["a", "cancelled", "cancelled"]


def test_on_change_is_called_for_changes_but_not_for_moves() -> None:
    changes = list[str]()
    field = Input(on_change=changes.append)
    pressed(field, "a", LEFT, "b", UNDO)

    assert changes == ["a", "ba", "a"]


def test_pasted_lines_become_one() -> None:
    field = pressed(Input(), Paste(text="one\r\ntwo\n").data)

    assert field.get_value() == "one two"


def test_a_value_can_be_set() -> None:
    field = Input()
    field.set_value("abc")

    assert (field.get_value(), shown(pressed(field), 10)) == ("abc", "> abc| ")


@pytest.mark.behaviour("masked-input-leaves-nothing")
def test_a_masked_field_shows_dots_and_has_neither_kill_ring_nor_undo_history() -> None:
    field = pressed(Input(masked=True), *"pässword", Paste(text="x" * 2000).data, LEFT)
    assert shown(field, 12) == "> •••••••••|•"

    pressed(field, "\x1b[F", CTRL_U, CTRL_Y, UNDO, "\x1b-")

    assert field.get_value() == ""


KEYS = st.sampled_from(
    ["a", "日", "👍🏽", " ", LEFT, HOME, BACKSPACE, CTRL_U, CTRL_Y, UNDO, "\x1b[C"]
)


@given(st.lists(KEYS, max_size=20), st.integers(1, 12), st.booleans())
def test_the_row_fits_and_has_the_cursor(keys: list[str], width: int, masked: bool) -> None:
    field = Input(masked=masked, placeholder="something to type")
    field.focused = True
    for key in keys:
        field.handle_input(key)
        (row,) = field.render(width)
        assert visible_width(row) <= width
        assert row.count(CURSOR_MARKER) == 1

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.component import CURSOR_MARKER
from pi.tui.input.actions import TUI_ACTIONS
from pi.tui.input.decoder import Paste
from pi.tui.input.keymap import Keymap
from pi.tui.mouse import MouseEvent, MouseResult, MouseType
from pi.tui.text.width import visible_width
from pi.tui.widgets.editor.document import EDITS
from pi.tui.widgets.editor.editor import _ACTIONS, Editor
from tests.tui.widgets.editor.pressing import (
    BACKSPACE,
    CTRL_A,
    CTRL_D,
    CTRL_U,
    CTRL_W,
    CTRL_Y,
    DOWN,
    ENTER,
    ESCAPE,
    LEFT,
    RIGHT,
    SHIFT_ENTER,
    UNDO,
    UP,
    pressed,
    shown,
)

LONG = "\n".join("abcdefghijklm")


def mouse(x: int, y: int, type: MouseType = "press") -> MouseEvent:
    return MouseEvent(
        type=type, button="left", x=x, y=y, screen_x=x, screen_y=y, width=20, height=4
    )


def focused() -> Editor:
    editor = Editor()
    editor.focused = True
    return editor


def test_text_is_shown_between_borders_with_the_cursor_after_it() -> None:
    editor = pressed(focused(), *"hi", SHIFT_ENTER, "x")

    assert shown(editor, 10) == ["──────────", "hi", "x| ", "──────────"]


def test_an_editor_without_focus_shows_no_cursor() -> None:
    assert shown(pressed(Editor(), "a"), 5) == ["─────", "a", "─────"]


def test_the_border_has_a_colour_and_a_label() -> None:
    editor = Editor()
    editor.border_color = lambda text: f"<{text}>"
    editor.label = "⠙ Working"

    assert editor.render(20) == [
        "<── >⠙ Working< ───────>",
        "",
        f"<{'─' * 20}>",
    ]


def test_padding_keeps_columns_free() -> None:
    editor = pressed(focused(), *"abcd")
    editor.set_padding_x(1)

    assert shown(editor, 6) == ["──────", " abcd| ", "──────"]
    assert [visible_width(row) for row in editor.render(6)] == [6, 6, 6]


def test_the_same_rows_are_returned_until_something_changes() -> None:
    editor = focused()
    rows = editor.render(20)

    assert editor.render(20) is rows
    pressed(editor, "a")
    assert editor.render(20) is not rows


def test_enter_submits_and_the_editor_is_empty() -> None:
    editor, sent, changes = Editor(), list[str](), list[str]()
    editor.on_submit, editor.on_change = sent.append, changes.append

    pressed(editor, *"hi", SHIFT_ENTER, "!", ENTER)

    assert (sent, editor.get_text()) == (["hi\n!"], "")
    assert changes == ["h", "hi", "hi\n", "hi\n!", ""]


def test_a_backslash_before_enter_is_a_new_line() -> None:
    editor, sent = Editor(), list[str]()
    editor.on_submit = sent.append

    pressed(editor, *"a\\", ENTER, "b", "\n", "c")

    assert (editor.get_text(), sent) == ("a\nb\nc", [])


@pytest.mark.behaviour("paste-markers-are-atomic")
def test_a_long_paste_is_shown_as_a_marker_and_sent_in_full() -> None:
    editor, sent = Editor(), list[str]()
    editor.on_submit = sent.append

    pressed(editor, *"see ", Paste(text=LONG.replace("\n", "\r")).data)

    assert editor.get_text() == "see [paste #1 +13 lines]"
    assert editor.get_expanded_text() == f"see {LONG}"
    pressed(editor, ENTER)
    assert sent == [f"see {LONG}"]


@pytest.mark.behaviour("pastes-are-robust")
def test_enter_right_after_a_paste_submits_it() -> None:
    editor, sent = Editor(), list[str]()
    editor.on_submit = sent.append
    pressed(editor, Paste(text="one\ntwo").data, ENTER)

    assert sent == ["one\ntwo"]


@pytest.mark.behaviour("pasted-text-is-literal")
@pytest.mark.parametrize("text", ["90:62:3F:A5", "$1 $& \\1", "a\tb", "%s {x}"])
def test_pasted_text_is_literal(text: str) -> None:
    editor = pressed(Editor(), Paste(text=text).data)

    assert editor.get_text() == text.replace("\t", "    ")
    assert all(visible_width(row) <= 8 for row in editor.render(8))


def test_inserted_text_is_never_a_marker() -> None:
    editor = Editor()
    editor.insert_text_at_cursor(LONG)

    assert editor.get_text() == LONG


@pytest.mark.behaviour("cursor-moves-by-grapheme")
def test_up_and_down_keep_their_column_over_wrapped_and_shorter_rows() -> None:
    editor = focused()
    editor.set_text("aaaa bbbb\nc\ndddd")
    assert shown(editor, 8)[1:-1] == ["aaaa ", "bbbb", "c", "dddd| "]

    pressed(editor, UP)
    assert shown(editor, 8)[3] == "c| "
    pressed(editor, UP)
    assert shown(editor, 8)[2] == "bbbb| "
    pressed(editor, UP)
    assert shown(editor, 8)[1] == "aaaa| "
    pressed(editor, DOWN, DOWN, LEFT, DOWN)
    assert shown(editor, 8)[4] == "|dddd"


@pytest.mark.behaviour("drafts-are-kept")
def test_history_restores_the_draft() -> None:
    editor = focused()
    for prompt in ("one", "two"):
        editor.add_to_history(prompt)
    pressed(editor, *"my draft", UP)
    assert editor.get_text() == "my draft"

    pressed(editor, UP)
    assert editor.get_text() == "two"
    pressed(editor, UP, UP)
    assert editor.get_text() == "one"
    pressed(editor, DOWN, DOWN)
    assert editor.get_text() == "my draft"


@pytest.mark.behaviour("drafts-are-kept")
def test_undo_restores_a_draft_that_was_replaced_by_an_edited_history_entry() -> None:
    editor = focused()
    editor.add_to_history("one")
    pressed(editor, *"draft", CTRL_A, UP, "x", DOWN)
    assert editor.get_text() == "xone"
    pressed(editor, UNDO, UNDO)

    assert editor.get_text() == "draft"


def test_history_keys_can_be_bound() -> None:
    keymap = Keymap(
        {"tui.editor.historyPrevious": ("ctrl+p",), "tui.editor.historyNext": ("ctrl+n",)}
    )
    editor = Editor(keymap=keymap)
    editor.add_to_history("one")

    assert pressed(editor, *"ab", "\x10").get_text() == "one"
    assert pressed(editor, "\x0e").get_text() == "ab"


def test_up_on_the_first_and_down_on_the_last_row_move_to_the_ends_of_the_line() -> None:
    editor = pressed(focused(), *"ab", UP)
    assert shown(editor)[1] == "|ab"
    assert shown(pressed(editor, DOWN))[1] == "ab| "


def test_a_jump_moves_to_the_character_typed_next() -> None:
    editor = focused()
    editor.set_text("one two three")

    assert shown(pressed(editor, CTRL_A, "\x1d", "w"))[1] == "one t|wo three"
    assert shown(pressed(editor, "\x1b\x1d", "o"))[1] == "|one two three"
    assert shown(pressed(editor, "\x1d", RIGHT, "x"))[1] == "ox|ne two three"


def test_a_tall_text_scrolls_by_rows_and_pages() -> None:
    editor = focused()
    editor.set_text("\n".join(str(number) for number in range(20)))

    rows = shown(editor)
    assert rows == ["── ↑ 13 more ───────", *map(str, range(13, 19)), "19| ", "─" * 20]
    rows = shown(pressed(editor, "\x1b[5~"))
    assert [rows[0], rows[1], rows[-1]] == [
        "── ↑ 12 more ───────",
        "12| ",
        "── ↓ 1 more ────────",
    ]
    assert shown(pressed(editor, "\x1b[6~"))[-2] == "19| "


def test_the_number_of_visible_rows_follows_the_screen_height() -> None:
    screen = [24]
    editor = Editor(screen_rows=lambda: screen[0])
    editor.set_text("\n".join(str(number) for number in range(20)))
    before = len(editor.render(20))

    screen[0] = 50

    assert (before, len(editor.render(20))) == (7 + 2, 15 + 2)


def test_ctrl_d_deletes_the_character_after_the_cursor() -> None:
    assert pressed(focused(), *"ab", LEFT, CTRL_D).get_text() == "a"


def test_words_are_killed_and_yanked() -> None:
    editor = pressed(focused(), *"one two", CTRL_W, CTRL_Y, CTRL_Y)

    assert editor.get_text() == "one twotwo"


def test_pressing_the_mouse_moves_the_cursor() -> None:
    editor = focused()
    editor.set_text("hello\nworld")
    editor.render(20)

    assert editor.handle_mouse(mouse(3, 1)) == MouseResult(handled=True, focus=True, render=True)
    assert shown(editor)[1] == "hel|lo"
    assert [editor.handle_mouse(mouse(0, 0)), editor.handle_mouse(mouse(0, 9))] == [None, None]
    assert editor.handle_mouse(mouse(0, 1, type="release")) is None


@pytest.mark.behaviour("odd-key-events-type-nothing")
def test_keys_without_text_type_nothing() -> None:
    editor = pressed(
        Editor(), "\x1b[57441;2u", "\x1b[58000u", "\x1b[?1u", ESCAPE, "\x1b[15~", "\uf700"
    )

    assert editor.get_text() == ""


def test_letters_in_kitty_encoding_are_typed() -> None:
    editor = pressed(Editor(), "\x1b[97:65;2u", "\x1b[1092u", "\x1b[57404u", "\x1b[27;2;66~")

    assert editor.get_text() == "Aф5B"


KEYS = st.one_of(
    st.sampled_from(["a", " ", "日", "é", "👍🏽", "e\u0301", "\\", "\t", "x" * 30]),
    st.sampled_from(
        [UP, DOWN, LEFT, RIGHT, SHIFT_ENTER, BACKSPACE, CTRL_D, CTRL_U, CTRL_W, CTRL_Y]
    ),
    st.sampled_from(
        [UNDO, "\x1b-", "\x1by", "\x1bb", "\x1bf", "\x0b", "\x1b[5~", "\x1b[6~", ENTER]
    ),
    st.sampled_from(["\x1d", "\x1b\x1d", Paste(text=LONG).data, Paste(text="日本\n語").data]),
)


@pytest.mark.behaviour("lines-fit-the-terminal", "cursor-moves-by-grapheme", "wide-text-wraps")
@given(st.lists(KEYS, max_size=25), st.integers(1, 24), st.integers(0, 3))
def test_rows_fit_and_the_cursor_is_visible_after_any_keys(
    keys: list[str], width: int, padding: int
) -> None:
    editor = Editor(screen_rows=lambda: 10)
    editor.focused = True
    editor.set_padding_x(padding)
    editor.add_to_history("an earlier\nprompt 日本語")
    for key in keys:
        editor.handle_input(key)
        rows = editor.render(width)
        assert all(visible_width(row) <= width for row in rows)
        assert sum(row.count(CURSOR_MARKER) for row in rows) == 1


def test_typing_into_a_thousand_lines_is_fast() -> None:
    editor = focused()
    editor.set_text(
        "\n".join(f"line {number} with a few more words in it" for number in range(1000))
    )
    editor.render(80)
    best = 1.0
    for _ in range(20):
        started = time.process_time()
        editor.handle_input("x")
        editor.render(80)
        best = min(best, time.process_time() - started)

    assert best < 0.005


def test_every_editor_action_except_copy_is_implemented_by_the_editor() -> None:
    ids = {action.id for action in TUI_ACTIONS if action.id.startswith(("tui.editor", "tui.input"))}

    assert ids - set(_ACTIONS) - set(EDITS) == {"tui.input.copy"}

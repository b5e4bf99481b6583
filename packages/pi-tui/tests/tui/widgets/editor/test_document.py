from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.widgets.editor import motions
from pi.tui.widgets.editor.buffer import START, Position
from pi.tui.widgets.editor.document import EDITS, Document

LONG = "\n".join("abcdefghijklm")
MARKER = "[paste #1 +13 lines]"


def with_text(text: str) -> Document:
    document = Document()
    document.insert(text)
    return document


def test_line_ends_and_tabs_are_normalised_and_sequences_removed() -> None:
    document = with_text("a\r\nb\rc\td\x1b[31me\x1b]0;title\x07\x00")

    assert document.buffer.text == "a\nb\nc    de"


def test_letters_of_a_word_are_undone_together() -> None:
    document = Document()
    for char in "one two":
        document.type(char)

    assert [document.undo(), document.buffer.text] == [True, "one"]
    assert [document.undo(), document.buffer.text] == [True, ""]
    assert [document.redo(), document.buffer.text] == [True, "one"]


def test_a_cursor_move_begins_another_undo_step() -> None:
    document = Document()
    document.type("a")
    document.move(motions.left)
    document.type("b")
    document.undo()

    assert (document.buffer.text, document.buffer.cursor) == ("a", START)


def test_kills_in_a_row_are_yanked_together() -> None:
    document = with_text("one two three")
    document.kill(motions.word_left)
    document.kill(motions.word_left)
    document.move(motions.line_start)
    document.yank()

    assert document.buffer.text == "two threeone "


def test_yank_pop_cycles_through_killed_texts_only_after_a_yank() -> None:
    document = with_text("one two")
    document.kill(motions.word_left)
    document.move(motions.line_start)
    document.kill(motions.line_end)

    document.yank_pop()
    assert document.buffer.text == ""
    document.yank()
    assert document.buffer.text == "one "
    document.yank_pop()
    assert document.buffer.text == "two"
    document.yank_pop()
    assert document.buffer.text == "one "
    document.undo()
    assert document.buffer.text == ""


@pytest.mark.behaviour("paste-markers-are-atomic")
def test_a_marker_is_atomic_for_moving_deleting_and_undo_and_expands() -> None:
    document = with_text("see ")
    document.paste(LONG)
    document.type("!")

    assert (document.buffer.text, document.expanded) == (f"see {MARKER}!", f"see {LONG}!")
    document.move(motions.left)
    document.move(motions.left)
    assert document.buffer.cursor == Position(0, 4)
    document.move_to(Position(0, 9))
    assert document.buffer.cursor == Position(0, 4 + len(MARKER))
    document.delete(motions.left)
    assert (document.buffer.text, document.expanded) == ("see !", "see !")
    document.undo()
    assert (document.buffer.text, document.expanded) == (f"see {MARKER}!", f"see {LONG}!")
    document.kill(motions.word_left)
    document.yank()
    assert document.expanded == f"see {LONG}!"


@pytest.mark.behaviour("paste-markers-are-atomic")
def test_a_killed_paste_marker_is_yanked_as_its_full_text_in_the_next_prompt() -> None:
    document = Document()
    document.paste(LONG)
    document.kill(motions.line_start)
    document.clear()
    document.yank()

    assert document.buffer.text == LONG


@pytest.mark.behaviour("pastes-are-robust")
def test_a_huge_paste_is_a_marker() -> None:
    document = Document()
    document.paste("line\n" * 200_000)

    assert document.buffer.text == "[paste #1 +200000 lines]"
    assert len(document.expanded) == 1_000_000


@pytest.mark.behaviour("cursor-moves-by-grapheme")
def test_deleting_removes_whole_graphemes() -> None:
    document = with_text("a👨‍👩‍👧e\u0301")

    document.delete(motions.left)
    assert document.buffer.text == "a👨‍👩‍👧"
    document.delete(motions.left)
    assert document.buffer.text == "a"


def test_the_cursor_moves_past_a_grapheme_that_typing_creates() -> None:
    document = with_text("\u0301x")
    document.move_to(START)
    document.type("e")

    assert (document.buffer.text, document.buffer.cursor) == ("e\u0301x", Position(0, 2))


@pytest.mark.behaviour("masked-input-leaves-nothing")
def test_a_private_document_has_neither_kill_ring_nor_undo_history() -> None:
    document = Document(private=True, single_line=True)
    document.type("secret")
    document.paste("s" * 2000)
    document.kill(motions.line_start)

    document.yank()
    document.undo()
    document.redo()

    assert (document.buffer.text, document.expanded) == ("", "")


def test_a_single_line_document_replaces_line_ends_by_blanks_and_strips_the_last() -> None:
    document = Document(single_line=True)
    document.paste("a\r\nb\n")

    assert document.buffer.text == "a b"


def test_browsing_the_history_is_one_undo_step() -> None:
    document = with_text("draft")
    document.set_text("one", START, browsing=True)
    document.set_text("two", START, browsing=True)
    document.undo()

    assert document.buffer.text == "draft"


@given(st.lists(st.one_of(st.text("ab \n", min_size=1, max_size=3), st.sampled_from("<>-+"))))
def test_editing_is_equivalent_to_editing_a_list_of_characters(steps: list[str]) -> None:
    document, chars, at = Document(), list[str](), 0
    for step in steps:
        match step:
            case "<":
                document.move(motions.left)
                at = max(at - 1, 0)
            case ">":
                document.move(motions.right)
                at = min(at + 1, len(chars))
            case "-":
                document.delete(motions.left)
                del chars[max(at - 1, 0) : at]
                at = max(at - 1, 0)
            case "+":
                document.delete(motions.right)
                del chars[at : at + 1]
            case text:
                document.insert(text)
                chars[at:at] = text
                at += len(text)
        before = "".join(chars[:at])
        assert document.buffer.text == "".join(chars)
        assert document.buffer.cursor == Position(
            before.count("\n"), len(before) - before.rfind("\n") - 1
        )


OPERATIONS = st.one_of(
    st.sampled_from(sorted(set(EDITS) - {"tui.editor.undo", "tui.editor.redo"})),
    st.text("aé日\u0301👍🏽 .\n\t", min_size=1, max_size=4).map(lambda text: f"type:{text}"),
    st.just(f"paste:{LONG}"),
)


def perform(document: Document, operation: str) -> None:
    if operation in EDITS:
        EDITS[operation](document)
    else:
        kind, _, text = operation.partition(":")
        (document.paste if kind == "paste" else document.type)(text)


@given(st.lists(OPERATIONS, max_size=15))
def test_undoing_and_redoing_everything_restores_the_document(operations: list[str]) -> None:
    document = Document()
    for operation in operations:
        perform(document, operation)
        row, col = document.buffer.cursor
        line = document.buffer.lines[row]
        assert document.units.border(line, col) == col
    before = (document.buffer.text, document.buffer.cursor, document.expanded)

    while document.undo():
        pass
    assert document.buffer.text == ""
    while document.redo():
        pass

    assert (document.buffer.text, document.buffer.cursor, document.expanded) == before

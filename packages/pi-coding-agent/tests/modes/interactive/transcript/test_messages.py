from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pi.modes.interactive.transcript.messages import (
    THOUGHT_ROWS,
    AnswerBlock,
    CustomBlock,
    UserBlock,
    as_typed,
    author_of,
)
from pi.tui.style import ColourDepth
from pi.tui.text.ansi import strip_sequences
from pi.tui.text.width import visible_width
from tests.modes.interactive.transcript.looks import look, plain


@pytest.mark.behaviour("user-text-is-literal")
def test_a_message_of_the_user_is_shown_as_typed() -> None:
    block = UserBlock(look(), "+ one\n+ two\n\n7. seven\n\nC:\\new \\*")

    assert plain(block, 30) == [
        "",
        "▌ + one",
        "▌ + two",
        "▌",
        "▌ 7. seven",
        "▌",
        "▌ C:\\new \\*",
    ]


def test_skills_and_files_are_shown_as_they_were_named() -> None:
    skill = (
        '<skill name="pdf" location="/s/SKILL.md">\nReferences are relative to /s.\n\nRead it.\n'
        "</skill>\n\nplease"
    )

    assert as_typed(skill) == "/skill:pdf please"
    assert as_typed('<file name="/a.py">\nx = 1\n</file>\n\nexplain') == "@/a.py\n\nexplain"
    assert as_typed("a < b") == "a < b"


def test_a_long_message_is_folded() -> None:
    shared = look()
    block = UserBlock(shared, "\n\n".join(f"line {number}" for number in range(60)))

    assert plain(block)[17:21] == [
        "▌ line 8",
        "▌",
        "▌ … 95 more lines (ctrl+o to expand)",
        "▌",
    ]
    assert plain(block)[-1] == "▌ line 59"
    shared.is_expanded = True
    block.invalidate()
    assert plain(block)[-1] == "▌ line 59"


def test_without_backgrounds_a_bar_still_marks_messages_of_the_user() -> None:
    assert plain(UserBlock(look(ColourDepth.NONE), "hello"), 20) == ["", "▌ hello"]


def test_the_author_of_a_message_is_shown_above_it_in_one_harmless_line() -> None:
    guest = author_of({"author": {"name": "Ada\x1b[2J\nLovelace"}})
    long = UserBlock(look(), "hello", author=author_of({"author": "x" * 100}))

    assert plain(UserBlock(look(), "hello", author=guest), 30) == ["", "▌ Ada Lovelace", "▌ hello"]
    assert plain(long, 200)[1] == "▌ " + "x" * 39 + "…"
    assert plain(long, 12)[1] == "▌ xxxxxxxx…"
    assert [author_of(meta) for meta in (None, {}, {"author": 3}, {"author": " "})] == [""] * 4


def test_a_message_of_an_extension_is_shown_under_its_name() -> None:
    assert plain(CustomBlock(look(), "todo", "*two* left"), 20) == ["", " todo", " two left"]


def test_the_name_of_an_extension_is_one_harmless_line() -> None:
    block = CustomBlock(look(ColourDepth.NONE), "to\x1b]0;owned\x07\ndo", "x")

    assert plain(block, 20) == ["", " to do", " x"]
    assert "owned" not in "".join(block.render(20))


def test_thoughts_and_words_alternate_with_space_between() -> None:
    block = AnswerBlock(look())
    block.append("thinking", "hm")
    block.append("thinking", "m")
    block.append("text", "Yes.")
    block.append("text", " No.")

    assert plain(block, 20) == ["", " hmm", "", " Yes. No."]


@pytest.mark.behaviour("toggles-redraw-everything")
def test_hidden_thinking_is_shown_as_one_row() -> None:
    shared = look()
    block = AnswerBlock(shared)
    block.append("thinking", "a secret\n\nplan")
    block.append("text", "Yes.")
    block.finish()
    assert " a secret" in plain(block)

    shared.hides_thinking = True
    block.invalidate()

    assert plain(block) == ["", " Thought for 1 s (ctrl+t)", "", " Yes."]


def test_hidden_thinking_shows_a_label_while_streaming_and_its_duration_afterwards() -> None:
    shared, now = look(), 0.0
    shared.monotonic = lambda: now
    shared.hides_thinking = True
    block, stored = AnswerBlock(shared), AnswerBlock(shared, is_stored=True)
    for thinking in (block, stored):
        thinking.append("thinking", "a secret plan")
    assert plain(block) == ["", " Thinking…"]
    assert block.commit_safe_end == 0
    now = 4.2
    for thinking in (block, stored):
        thinking.finish()

    assert plain(block) == ["", " Thought for 4 s (ctrl+t)"]
    assert plain(stored) == ["", " Thought (ctrl+t)"]


def test_a_long_paste_is_folded_and_typed_text_is_shown() -> None:
    shared = look()
    pasted = "\n".join(f"\trow {number}" for number in range(200))
    shared.add_paste(f"{pasted}\r\n")
    text = f"Why?\n\n{pasted.replace(chr(9), '    ')}\n\nAnswer in a word."
    block = UserBlock(shared, text)

    assert plain(block)[1:] == ["▌ Why?", "▌", "▌ [paste +200 lines]", "▌", "▌ Answer in a word."]
    shared.is_expanded = True
    block.invalidate()
    assert "row 199" in "\n".join(plain(block))


@given(st.lists(st.text(alphabet="ab \n#-*`|漢_~[]()<>$\\&;:1.+=!", max_size=12), max_size=30))
@example(["`_`_-\na", "______"])
@example(["<", "*1", "\n1>", "*"])
@example(["[1", "]:1"])
@example(["$\\\n:", "$"])
@example(["1", "11", "1漢", "1111`", "111111111111", "`\\", "\n1"])
@example(["*1\n$* ", "1", "$"])
@example(["1\\", "__1\n:", "_"])
@example([">`\n>#", "`"])
@example(["*", "-\n`-`", "`", "-", "`", "*", "*", "`"])
def test_rows_before_the_commit_safe_end_never_change(pieces: list[str]) -> None:
    block = AnswerBlock(look())
    settled: list[str] = []
    for piece in pieces:
        block.append("text", piece)
        rows = [*map(strip_sequences, block.render(24))]
        assert rows[: len(settled)] == settled
        settled = rows[: block.commit_safe_end]
        assert all(visible_width(row) <= 24 for row in rows)
    block.finish()
    assert [*map(strip_sequences, block.render(24))][: len(settled)] == settled


def test_the_same_rows_are_the_same_object() -> None:
    block = AnswerBlock(look())
    block.append("text", "Yes.")

    assert block.render(20) is block.render(20)


def test_a_finished_answer_is_final() -> None:
    block = AnswerBlock(look())
    before = block.is_final

    block.finish()

    assert (before, block.is_final) == (False, True)
    assert block.render(20) == []


def test_folded_thinking_shows_its_last_rows_while_streaming_and_one_row_afterwards() -> None:
    shared = look()
    shared.folds_thinking = True
    block = AnswerBlock(shared)
    rows = []
    for number in range(9):
        block.append("thinking", f"thought {number}\n\n")
        rows.append(plain(block))
        assert block.commit_safe_end == 0
    block.append("text", "So.")

    assert rows[0] == ["", " thought 0"]
    assert len(rows[-1]) == THOUGHT_ROWS + 1
    assert rows[-1][-1] == " thought 8"
    assert plain(block) == ["", " Thought for 1 s (ctrl+t)", "", " So."]

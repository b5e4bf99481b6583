from __future__ import annotations

import pytest

from pi.tui.widgets.editor import motions
from pi.tui.widgets.editor.buffer import Buffer, Position
from pi.tui.widgets.editor.motions import Motion
from pi.tui.widgets.editor.text_units import TextUnits


def moved(marked: str, motion: Motion) -> str:
    """Returns the text with a bar at the cursor, after the motion."""
    at = marked.index("|")
    buffer = Buffer(marked[:at])
    cursor = buffer.cursor
    buffer.replace(cursor, cursor, marked[at + 1 :])
    buffer.cursor = cursor
    row, col = motion(buffer, TextUnits())
    lines = list(buffer.lines)
    lines[row] = f"{lines[row][:col]}|{lines[row][col:]}"
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("motion", "before", "after"),
    [
        (motions.left, "ab|c", "a|bc"),
        (motions.left, "a\n|b", "a|\nb"),
        (motions.left, "|a", "|a"),
        (motions.right, "a|bc", "ab|c"),
        (motions.right, "a|\nb", "a\n|b"),
        (motions.right, "a|", "a|"),
        (motions.word_left, "one two|", "one |two"),
        (motions.word_left, "one |two", "|one two"),
        (motions.word_left, "one\n|two", "one|\ntwo"),
        (motions.word_right, "one| two", "one two|"),
        (motions.word_right, "one|\ntwo", "one\n|two"),
        (motions.line_start, "a\nbc|d", "a\n|bcd"),
        (motions.line_end, "a\nb|cd", "a\nbcd|"),
        (motions.before_line, "a\nb|c", "a\n|bc"),
        (motions.before_line, "a\n|bc", "a|\nbc"),
        (motions.after_line, "a|b\nc", "ab|\nc"),
        (motions.after_line, "ab|\nc", "ab\n|c"),
        (motions.text_start, "ab\nc|", "|ab\nc"),
        (motions.text_end, "a|b\nc", "ab\nc|"),
        (motions.forward_to("x"), "|xa\nbx", "xa\nb|x"),
        (motions.forward_to("x"), "|ax x", "a|x x"),
        (motions.forward_to("z"), "a|b", "a|b"),
        (motions.back_to("x"), "xa\nxb|", "xa\n|xb"),
        (motions.back_to("x"), "xa\n|b", "|xa\nb"),
        (motions.back_to("z"), "a|b", "a|b"),
    ],
)
def test_motions_return_their_targets(motion: Motion, before: str, after: str) -> None:
    assert moved(before, motion) == after


@pytest.mark.behaviour("cursor-moves-by-grapheme")
def test_moves_and_jumps_never_stop_inside_a_grapheme() -> None:
    family, accent = "👨‍👩‍👧", "e\u0301"

    assert moved(f"a{family}|", motions.left) == f"a|{family}"
    assert moved(f"|{accent}x", motions.right) == f"{accent}|x"
    assert moved(f"|{accent} e", motions.forward_to("e")) == f"{accent} |e"


def test_a_motion_changes_neither_text_nor_cursor() -> None:
    buffer = Buffer("ab")
    motions.left(buffer, TextUnits())

    assert (buffer.text, buffer.cursor) == ("ab", Position(0, 2))

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pi.tui.widgets.editor.buffer import Buffer, Edit, Position, after

TEXTS = st.text("ab\n ", max_size=20)


def test_a_new_buffer_has_one_line_and_the_cursor_after_its_text() -> None:
    assert (Buffer().lines, Buffer().cursor) == ([""], Position(0, 0))
    assert (Buffer("a\nbc").lines, Buffer("a\nbc").cursor) == (["a", "bc"], Position(1, 2))


def test_replace_returns_the_edit_and_moves_the_cursor_after_the_new_text() -> None:
    buffer = Buffer("one\ntwo\nthree")

    edit = buffer.replace(Position(0, 2), Position(2, 1), "X\nY")

    assert edit == Edit(Position(0, 2), "e\ntwo\nt", "X\nY", Position(2, 5))
    assert (buffer.text, buffer.cursor) == ("onX\nYhree", Position(1, 1))


def test_the_nearest_position_is_in_the_text() -> None:
    buffer = Buffer("ab\nc")

    assert buffer.nearest(Position(9, 9)) == Position(1, 1)
    assert buffer.nearest(Position(-1, 5)) == Position(0, 2)


@given(TEXTS, st.integers(0, 20), st.integers(0, 20), TEXTS)
def test_replace_is_equivalent_to_replacing_in_a_string(
    text: str, one: int, two: int, new: str
) -> None:
    start, end = sorted((min(one, len(text)), min(two, len(text))))
    buffer = Buffer(text)
    origin = Position(0, 0)

    edit = buffer.replace(after(origin, text[:start]), after(origin, text[:end]), new)

    assert buffer.text == text[:start] + new + text[end:]
    assert buffer.cursor == after(origin, text[:start] + new)
    assert edit.removed == text[start:end]
    buffer.apply(edit.inverse(buffer.cursor))
    assert buffer.text == text

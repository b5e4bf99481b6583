from __future__ import annotations

from pi.tui.widgets.editor.buffer import Buffer, Position
from pi.tui.widgets.editor.document import MAX_STEPS, UndoStack


def typed(buffer: Buffer, stack: UndoStack, text: str, *, joins: bool = False) -> None:
    stack.record(buffer.replace(buffer.cursor, buffer.cursor, text), joins=joins)


def test_a_step_is_undone_and_redone_as_a_whole() -> None:
    buffer, stack = Buffer(), UndoStack()
    typed(buffer, stack, "a")
    typed(buffer, stack, "b", joins=True)
    typed(buffer, stack, "c")

    assert (stack.undo(buffer), buffer.text) == (True, "ab")
    assert (stack.undo(buffer), buffer.text) == (True, "")
    assert (stack.undo(buffer), buffer.text) == (False, "")
    assert (stack.redo(buffer), buffer.text) == (True, "ab")
    assert (stack.redo(buffer), buffer.text) == (True, "abc")
    assert (stack.redo(buffer), buffer.text) == (False, "abc")


def test_undo_and_redo_restore_the_cursor() -> None:
    buffer, stack = Buffer("abc"), UndoStack()
    buffer.cursor = Position(0, 2)
    stack.record(buffer.replace(Position(0, 0), Position(0, 1), ""))
    buffer.cursor = Position(0, 0)

    stack.undo(buffer)
    assert (buffer.text, buffer.cursor) == ("abc", Position(0, 2))
    stack.redo(buffer)
    assert (buffer.text, buffer.cursor) == ("bc", Position(0, 0))


def test_a_new_edit_clears_the_redo_steps() -> None:
    buffer, stack = Buffer(), UndoStack()
    typed(buffer, stack, "a")
    stack.undo(buffer)
    typed(buffer, stack, "b")

    assert (stack.redo(buffer), buffer.text) == (False, "b")


def test_the_number_of_undo_steps_is_limited() -> None:
    buffer, stack = Buffer(), UndoStack()
    for _ in range(MAX_STEPS + 5):
        typed(buffer, stack, "x")
    while stack.undo(buffer):
        pass

    assert buffer.text == "x" * 5

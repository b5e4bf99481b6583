"""What was changed, to take it back and to do it again."""

from __future__ import annotations

from pi.base.records import replace
from pi.tui.widgets.editor.buffer import Buffer, Edit, after

MOST_STEPS = 1000


class UndoStack:
    """Steps of one or more edits, each undone and redone as a whole."""

    def __init__(self) -> None:
        self._done: list[list[Edit]] = []
        self._undone: list[list[Edit]] = []

    def record(self, edit: Edit, *, joins: bool = False) -> None:
        """Remember an edit, as a step of its own or as part of the one before."""
        self._undone.clear()
        if not (joins and self._done):
            self._done.append([edit])
            del self._done[:-MOST_STEPS]
            return
        step = self._done[-1]
        last = step[-1]
        if not last.removed and not edit.removed and after(last.start, last.inserted) == edit.start:
            step[-1] = replace(last, inserted=last.inserted + edit.inserted)
        else:
            step.append(edit)

    def undo(self, buffer: Buffer) -> bool:
        """Take the last step back; whether there was one."""
        return _move(self._done, self._undone, buffer)

    def redo(self, buffer: Buffer) -> bool:
        """Make the last undone step again; whether there was one."""
        return _move(self._undone, self._done, buffer)

    def clear(self) -> None:
        """Forget everything."""
        self._done.clear()
        self._undone.clear()


def _move(source: list[list[Edit]], target: list[list[Edit]], buffer: Buffer) -> bool:
    if not source:
        return False
    step = source.pop()
    inverses = []
    for edit in reversed(step):
        inverse = edit.inverse(buffer.cursor)
        buffer.apply(inverse)
        buffer.cursor = edit.cursor
        inverses.append(inverse)
    target.append(inverses)
    return True

"""Lines of text with a cursor. Pure."""

from __future__ import annotations

from typing import NamedTuple

from pi.base.records import Record


class Position(NamedTuple):
    """A position between two characters: a line, and the number of characters before it."""

    row: int
    col: int


START = Position(0, 0)


class Edit(Record, kw_only=False):
    """One change: at ``start``, ``inserted`` replaced ``removed``."""

    start: Position
    removed: str
    inserted: str
    cursor: Position
    """The cursor before the change."""

    def inverse(self, cursor: Position) -> Edit:
        """Return the change that reverts this one; ``cursor`` is the cursor before reverting."""
        return Edit(self.start, self.inserted, self.removed, cursor)


class Buffer:
    """Text as one or more lines, with a cursor."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.lines = text.split("\n")
        """Without line ends."""
        self.cursor = self.end
        """Always a position in the text: ``nearest`` returns one."""

    @property
    def line(self) -> str:
        """The line with the cursor."""
        return self.lines[self.cursor.row]

    @property
    def end(self) -> Position:
        """The position after the last character."""
        return Position(len(self.lines) - 1, len(self.lines[-1]))

    def nearest(self, position: Position) -> Position:
        """Return the position in the text that is nearest to ``position``."""
        row = min(max(position.row, 0), len(self.lines) - 1)
        return Position(row, min(max(position.col, 0), len(self.lines[row])))

    def between(self, start: Position, end: Position) -> str:
        """Return the text between two positions."""
        if start.row == end.row:
            return self.lines[start.row][start.col : end.col]
        first, last = self.lines[start.row][start.col :], self.lines[end.row][: end.col]
        return "\n".join([first, *self.lines[start.row + 1 : end.row], last])

    def replace(self, start: Position, end: Position, text: str) -> Edit:
        """Replace the text between two positions; the cursor moves behind it."""
        edit = Edit(start, self.between(start, end), text, self.cursor)
        head, tail = self.lines[start.row][: start.col], self.lines[end.row][end.col :]
        self.lines[start.row : end.row + 1] = f"{head}{text}{tail}".split("\n")
        self.cursor = after(start, text)
        self.text = "\n".join(self.lines)
        return edit

    def apply(self, edit: Edit) -> None:
        """Apply an earlier change or an inverse."""
        self.replace(edit.start, after(edit.start, edit.removed), edit.inserted)


def after(start: Position, text: str) -> Position:
    """Return the end of a text that begins at ``start``."""
    breaks = text.count("\n")
    if not breaks:
        return Position(start.row, start.col + len(text))
    return Position(start.row + breaks, len(text) - text.rindex("\n") - 1)

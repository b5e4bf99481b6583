"""Lines of text with a cursor that is always somewhere in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pi.base.records import Record


class Position(NamedTuple):
    """A place between two characters: a line, and how many characters of it are before."""

    row: int
    col: int


START = Position(0, 0)


class Edit(Record, kw_only=False):
    """One change: at ``start``, ``removed`` gave way to ``inserted``."""

    start: Position
    removed: str
    inserted: str
    cursor: Position
    """Where the cursor was before."""

    def inverse(self, cursor: Position) -> Edit:
        """The change that takes this one back; ``cursor`` is where it will be undone from."""
        return Edit(self.start, self.inserted, self.removed, cursor)


class Buffer:
    """Text as lines, of which there is always at least one, and a cursor in it."""

    def __init__(self, text: str = "") -> None:
        self._lines = text.split("\n")
        self._cursor = self.end
        self._text: str | None = text

    @property
    def lines(self) -> Sequence[str]:
        """The lines, without line ends."""
        return self._lines

    @property
    def text(self) -> str:
        """All lines."""
        if self._text is None:
            self._text = "\n".join(self._lines)
        return self._text

    @property
    def cursor(self) -> Position:
        """Where typing goes."""
        return self._cursor

    @cursor.setter
    def cursor(self, position: Position) -> None:
        self._cursor = self.nearest(position)

    @property
    def line(self) -> str:
        """The line with the cursor."""
        return self._lines[self._cursor.row]

    @property
    def end(self) -> Position:
        """The place after all text."""
        return Position(len(self._lines) - 1, len(self._lines[-1]))

    def nearest(self, position: Position) -> Position:
        """The place in the text that is nearest to a place that may be outside."""
        row = min(max(position.row, 0), len(self._lines) - 1)
        return Position(row, min(max(position.col, 0), len(self._lines[row])))

    def between(self, start: Position, end: Position) -> str:
        """The text from one place to a later one."""
        if start.row == end.row:
            return self._lines[start.row][start.col : end.col]
        first, last = self._lines[start.row][start.col :], self._lines[end.row][: end.col]
        return "\n".join([first, *self._lines[start.row + 1 : end.row], last])

    def replace(self, start: Position, end: Position, text: str) -> Edit:
        """Put ``text`` where there was other text; the cursor goes behind it."""
        edit = Edit(start, self.between(start, end), text, self._cursor)
        head, tail = self._lines[start.row][: start.col], self._lines[end.row][end.col :]
        self._lines[start.row : end.row + 1] = f"{head}{text}{tail}".split("\n")
        self._cursor = after(start, text)
        self._text = None
        return edit

    def apply(self, edit: Edit) -> None:
        """Make a change that was made before, or an inverse."""
        self.replace(edit.start, after(edit.start, edit.removed), edit.inserted)


def after(start: Position, text: str) -> Position:
    """Where a text that begins at ``start`` ends."""
    breaks = text.count("\n")
    if not breaks:
        return Position(start.row, start.col + len(text))
    return Position(start.row + breaks, len(text) - text.rindex("\n") - 1)

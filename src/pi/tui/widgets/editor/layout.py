"""Lines of text as rows of a given width, and the way between the two."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from pi.tui.text.width import visible_width
from pi.tui.widgets.editor.buffer import Position
from pi.tui.widgets.editor.units import Units

Piece: TypeAlias = tuple[int, int]
"""From which to which character a row shows its line."""


class Row(NamedTuple):
    """A row on the screen: a part of a line."""

    line: int
    start: int
    end: int


class Layout:
    """The rows of a text; lines that have not changed are not wrapped again.

    Rows are as wide as told, or one column wider when they end in a blank: the caller keeps that
    column free, as the cursor needs it at the end of a full row anyway.
    """

    def __init__(self, units: Units) -> None:
        self._units = units
        self._wrapped: dict[str, list[Piece]] = {}
        self._width = 0
        self.rows: list[Row] = [Row(0, 0, 0)]
        self._first_rows: list[int] = [0]
        """The number of the first row of each line."""

    def update(self, lines: Sequence[str], width: int) -> None:
        """Lay the text out."""
        known = self._wrapped if width == self._width else {}
        wrapped: dict[str, list[Piece]] = {}
        rows: list[Row] = []
        first_rows: list[int] = []
        for number, line in enumerate(lines):
            pieces = wrapped.get(line) or known.get(line) or wrap_line(line, width, self._units)
            wrapped[line] = pieces
            first_rows.append(len(rows))
            for start, end in pieces:
                rows.append(Row(number, start, end))
        self._wrapped, self._width = wrapped, width
        self.rows, self._first_rows = rows, first_rows

    def row_of(self, position: Position) -> int:
        """The number of the row that shows a place. A place between two rows is on the second."""
        first = self._first_rows[position.row]
        last = (
            self._first_rows[position.row + 1]
            if position.row + 1 < len(self._first_rows)
            else len(self.rows)
        )
        starts = [row.start for row in self.rows[first:last]]
        return first + bisect_right(starts, position.col) - 1

    def column_of(self, position: Position, lines: Sequence[str]) -> int:
        """How many columns of its row are before a place."""
        row = self.rows[self.row_of(position)]
        return visible_width(lines[row.line][row.start : position.col])

    def position_at(self, number: int, column: int, lines: Sequence[str]) -> Position:
        """The place nearest to a column of a row, never in the middle of a unit."""
        row = self.rows[min(max(number, 0), len(self.rows) - 1)]
        text = lines[row.line]
        goes_on = row.end < len(text)
        at, reached = row.start, 0
        for unit in self._units.split(text[row.start : row.end]):
            width = visible_width(unit)
            # The end of a row that goes on is the start of the next one, so it is no goal here.
            if reached + width > column or (goes_on and at + len(unit) >= row.end):
                break
            at += len(unit)
            reached += width
        return Position(row.line, at)


def wrap_line(line: str, width: int, units: Units) -> list[Piece]:
    """A line in pieces of at most ``width`` columns, not counting a blank at the end of a piece.

    It is broken behind blanks and beside wide characters where possible, else anywhere.
    """
    if units.is_plain(line):
        return _wrap_plain(line, width)
    if visible_width(line) <= width:
        return [(0, len(line))]
    return _wrap_units(units.split(line), width)


def _wrap_plain(line: str, width: int) -> list[Piece]:
    pieces: list[Piece] = []
    start = 0
    while len(line) - start > width:
        blank = line.rfind(" ", start, start + width + 1)
        end = blank + 1 if blank >= 0 else start + width
        pieces.append((start, end))
        start = end
    return [*pieces, (start, len(line))]


def _wrap_units(split: Sequence[str], width: int) -> list[Piece]:
    pieces: list[Piece] = []
    start = at = used = 0
    break_at, used_since = 0, 0
    for unit in split:
        columns = min(visible_width(unit), width)
        wide = columns > 1
        if wide:
            break_at, used_since = at, 0
        while used + columns > width and at > start:
            if unit == " ":
                break
            end, left = (break_at, used_since) if break_at > start else (at, 0)
            pieces.append((start, end))
            start, used = end, left
        at += len(unit)
        used += columns
        used_since += columns
        if unit == " " or wide:
            break_at, used_since = at, 0
        if used > width:
            pieces.append((start, at))
            start, used = at, 0
    return [*pieces, (start, at)]

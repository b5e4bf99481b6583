"""Where the cursor goes. Each motion is a question about a buffer; none changes it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import TypeAlias

from pi.tui.widgets.editor.buffer import Buffer, Position
from pi.tui.widgets.editor.units import Units
from pi.tui.widgets.editor.words import first_word

Motion: TypeAlias = Callable[[Buffer, Units], Position]


def left(buffer: Buffer, units: Units) -> Position:
    """One unit back, over line ends too."""
    row, col = buffer.cursor
    if col == 0:
        return _end_of_line_before(buffer)
    return Position(row, units.before(buffer.line, col))


def right(buffer: Buffer, units: Units) -> Position:
    """One unit on, over line ends too."""
    row, col = buffer.cursor
    if col == len(buffer.line):
        return _start_of_line_after(buffer)
    return Position(row, units.after(buffer.line, col))


def word_left(buffer: Buffer, units: Units) -> Position:
    """To the start of the word before, or over one line end."""
    row, col = buffer.cursor
    if col == 0:
        return _end_of_line_before(buffer)
    return Position(row, col - first_word(reversed(units.split(buffer.line[:col]))))


def word_right(buffer: Buffer, units: Units) -> Position:
    """To the end of the word after, or over one line end."""
    row, col = buffer.cursor
    if col == len(buffer.line):
        return _start_of_line_after(buffer)
    return Position(row, col + first_word(units.split(buffer.line[col:])))


def line_start(buffer: Buffer, units: Units) -> Position:
    """To the first column."""
    return Position(buffer.cursor.row, 0)


def line_end(buffer: Buffer, units: Units) -> Position:
    """Behind the last character of the line."""
    return Position(buffer.cursor.row, len(buffer.line))


def before_line(buffer: Buffer, units: Units) -> Position:
    """To the start of the line; from there, behind the line before."""
    return line_start(buffer, units) if buffer.cursor.col else _end_of_line_before(buffer)


def behind_line(buffer: Buffer, units: Units) -> Position:
    """To the end of the line; from there, to the line after."""
    at_end = buffer.cursor.col == len(buffer.line)
    return _start_of_line_after(buffer) if at_end else line_end(buffer, units)


def text_start(buffer: Buffer, units: Units) -> Position:
    """Before everything."""
    return Position(0, 0)


def text_end(buffer: Buffer, units: Units) -> Position:
    """Behind everything."""
    return buffer.end


def forward_to(char: str) -> Motion:
    """A motion to the next ``char``, on whatever line; nowhere if there is none."""

    def motion(buffer: Buffer, units: Units) -> Position:
        row, col = buffer.cursor
        for at, line in enumerate(buffer.lines[row:], row):
            for place in _places(char, line, units):
                if at > row or place > col:
                    return Position(at, place)
        return buffer.cursor

    return motion


def back_to(char: str) -> Motion:
    """A motion to the ``char`` before, on whatever line; nowhere if there is none."""

    def motion(buffer: Buffer, units: Units) -> Position:
        row, col = buffer.cursor
        for at in range(row, -1, -1):
            for place in reversed(_places(char, buffer.lines[at], units)):
                if at < row or place < col:
                    return Position(at, place)
        return buffer.cursor

    return motion


def _places(char: str, line: str, units: Units) -> list[int]:
    """Where a character is a unit of a line by itself."""
    if char not in line:
        return []
    split = units.split(line)
    starts = accumulate(map(len, split), initial=0)
    return [place for place, unit in zip(starts, split, strict=False) if unit == char]


def _end_of_line_before(buffer: Buffer) -> Position:
    row = buffer.cursor.row
    return Position(row - 1, len(buffer.lines[row - 1])) if row else buffer.cursor


def _start_of_line_after(buffer: Buffer) -> Position:
    row = buffer.cursor.row
    return Position(row + 1, 0) if row + 1 < len(buffer.lines) else buffer.cursor

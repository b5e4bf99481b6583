"""Motions of the cursor. Pure.

A motion returns a position and does not change the buffer.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import TypeAlias

from pi.tui.widgets.editor.buffer import Buffer, Position
from pi.tui.widgets.editor.text_units import TextUnits, first_word

Motion: TypeAlias = Callable[[Buffer, TextUnits], Position]


def left(buffer: Buffer, units: TextUnits) -> Position:
    """One unit back, across line ends."""
    row, col = buffer.cursor
    if col == 0:
        return _end_of_line_before(buffer)
    return Position(row, units.before(buffer.line, col))


def right(buffer: Buffer, units: TextUnits) -> Position:
    """One unit forward, across line ends."""
    row, col = buffer.cursor
    if col == len(buffer.line):
        return _start_of_line_after(buffer)
    return Position(row, units.after(buffer.line, col))


def word_left(buffer: Buffer, units: TextUnits) -> Position:
    """To the start of the previous word, or across one line end."""
    row, col = buffer.cursor
    if col == 0:
        return _end_of_line_before(buffer)
    return Position(row, col - first_word(reversed(units.split(buffer.line[:col]))))


def word_right(buffer: Buffer, units: TextUnits) -> Position:
    """To the end of the next word, or across one line end."""
    row, col = buffer.cursor
    if col == len(buffer.line):
        return _start_of_line_after(buffer)
    return Position(row, col + first_word(units.split(buffer.line[col:])))


def line_start(buffer: Buffer, units: TextUnits) -> Position:
    """To the first column."""
    return Position(buffer.cursor.row, 0)


def line_end(buffer: Buffer, units: TextUnits) -> Position:
    """To the end of the line."""
    return Position(buffer.cursor.row, len(buffer.line))


def before_line(buffer: Buffer, units: TextUnits) -> Position:
    """To the start of the line; from there, to the end of the previous line."""
    return line_start(buffer, units) if buffer.cursor.col else _end_of_line_before(buffer)


def after_line(buffer: Buffer, units: TextUnits) -> Position:
    """To the end of the line; from there, to the next line."""
    at_end = buffer.cursor.col == len(buffer.line)
    return _start_of_line_after(buffer) if at_end else line_end(buffer, units)


def text_start(buffer: Buffer, units: TextUnits) -> Position:
    """To the start of the text."""
    return Position(0, 0)


def text_end(buffer: Buffer, units: TextUnits) -> Position:
    """To the end of the text."""
    return buffer.end


def forward_to(char: str) -> Motion:
    """Return a motion to the next ``char`` on any line; it does not move if there is none."""

    def motion(buffer: Buffer, units: TextUnits) -> Position:
        row, col = buffer.cursor
        for number, line in enumerate(buffer.lines[row:], row):
            for column in _find_columns(char, line, units):
                if number > row or column > col:
                    return Position(number, column)
        return buffer.cursor

    return motion


def back_to(char: str) -> Motion:
    """Return a motion to the previous ``char`` on any line; it does not move if there is none."""

    def motion(buffer: Buffer, units: TextUnits) -> Position:
        row, col = buffer.cursor
        for number in range(row, -1, -1):
            for column in reversed(_find_columns(char, buffer.lines[number], units)):
                if number < row or column < col:
                    return Position(number, column)
        return buffer.cursor

    return motion


def _find_columns(char: str, line: str, units: TextUnits) -> list[int]:
    """Return the columns at which a character is a unit of its own."""
    if char not in line:
        return []
    split = units.split(line)
    starts = accumulate(map(len, split), initial=0)
    return [column for column, unit in zip(starts, split, strict=False) if unit == char]


def _end_of_line_before(buffer: Buffer) -> Position:
    row = buffer.cursor.row
    return Position(row - 1, len(buffer.lines[row - 1])) if row else buffer.cursor


def _start_of_line_after(buffer: Buffer) -> Position:
    row = buffer.cursor.row
    return Position(row + 1, 0) if row + 1 < len(buffer.lines) else buffer.cursor

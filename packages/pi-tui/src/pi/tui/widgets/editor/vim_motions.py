"""Motions of vim. Pure: they return positions and change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Literal, NamedTuple, TypeAlias

from pi.tui.widgets.editor.buffer import Position
from pi.tui.widgets.editor.text_units import TextUnits, kind_of

Lines: TypeAlias = Sequence[str]

Extent: TypeAlias = Literal["exclusive", "inclusive", "lines"]
"""Whether an operator includes the character at the target, or whole lines."""


class Target(NamedTuple):
    """The target of a motion."""

    position: Position
    extent: Extent = "exclusive"


class Span(NamedTuple):
    """A text object: from ``start`` to before ``end``, or whole lines."""

    start: Position
    end: Position
    is_lines: bool = False


def last_column(line: str, units: TextUnits) -> int:
    """Return the column of the last character, where the cursor may stand in normal mode."""
    return units.before(line, len(line)) if line else 0


def first_non_blank(line: str) -> int:
    """Return the column of the first character that is no space."""
    return len(line) - len(line.lstrip()) if line.strip() else max(len(line) - 1, 0)


def _find_words(line: str, units: TextUnits, *, big: bool) -> list[tuple[int, int, int]]:
    """Return start, column of the last character, and end of the words of a line."""
    word_spans, column = [], 0
    runs = groupby(units.split(line), lambda unit: kind_of_unit(unit, big=big))
    for kind, run in runs:
        parts = list(run)
        end = column + sum(map(len, parts))
        if kind != "blank":
            word_spans.append((column, end - len(parts[-1]), end))
        column = end
    return word_spans


def kind_of_unit(unit: str, *, big: bool) -> str:
    """Return the class of a unit; a ``big`` word consists of everything but blanks."""
    kind = kind_of(unit)
    return "word" if big and kind != "blank" else kind


def word_forward(
    lines: Lines, cursor: Position, units: TextUnits, *, big: bool = False
) -> Position:
    """To the start of the next word; an empty line is a word."""
    for row in range(cursor.row, len(lines)):
        if row > cursor.row and not lines[row]:
            return Position(row, 0)
        for start, _, _ in _find_words(lines[row], units, big=big):
            if row > cursor.row or start > cursor.col:
                return Position(row, start)
    return Position(len(lines) - 1, len(lines[-1]))


def word_back(lines: Lines, cursor: Position, units: TextUnits, *, big: bool = False) -> Position:
    """To the start of this or the previous word."""
    for row in range(cursor.row, -1, -1):
        if row < cursor.row and not lines[row]:
            return Position(row, 0)
        for start, _, _ in reversed(_find_words(lines[row], units, big=big)):
            if row < cursor.row or start < cursor.col:
                return Position(row, start)
    return Position(0, 0)


def word_end(lines: Lines, cursor: Position, units: TextUnits, *, big: bool = False) -> Position:
    """To the last character of this or the next word."""
    for row in range(cursor.row, len(lines)):
        for _, last, _ in _find_words(lines[row], units, big=big):
            if row > cursor.row or last > cursor.col:
                return Position(row, last)
    return Position(len(lines) - 1, last_column(lines[-1], units))


def find_in_line(
    line: str, col: int, char: str, units: TextUnits, *, back: bool, till: bool
) -> int | None:
    """Return the column of the next ``char`` in a direction, or beside it."""
    columns, start = [], 0
    for unit in units.split(line):
        if unit == char:
            columns.append(start)
        start += len(unit)
    if back:
        target = next((column for column in reversed(columns) if column < col), None)
        return target if target is None or not till else units.after(line, target)
    target = next((column for column in columns if column > col), None)
    return target if target is None or not till else units.before(line, target)


PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_BACK = {close: open for open, close in PAIRS.items()}


def match_pair(lines: Lines, cursor: Position) -> Position | None:
    """To the bracket that matches the next one in the line."""
    line = lines[cursor.row]
    brackets = "([{)]}"
    col = next(
        (column for column in range(cursor.col, len(line)) if line[column] in brackets), None
    )
    if col is None:
        return None
    char, position = line[col], Position(cursor.row, col)
    if char in PAIRS:
        return find_partner(lines, position, char, PAIRS[char], back=False)
    return find_partner(lines, position, char, _BACK[char], back=True)


def find_partner(
    lines: Lines, position: Position, own: str, other: str, *, back: bool
) -> Position | None:
    """Return the partner of the bracket at a position."""
    depth = 0
    rows = range(position.row, -1, -1) if back else range(position.row, len(lines))
    for row in rows:
        line = lines[row]
        if back:
            columns = range(position.col if row == position.row else len(line) - 1, -1, -1)
        else:
            columns = range(position.col if row == position.row else 0, len(line))
        for col in columns:
            depth += (line[col] == own) - (line[col] == other)
            if not depth:
                return Position(row, col)
    return None

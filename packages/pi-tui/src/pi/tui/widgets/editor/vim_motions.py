"""Motions and text objects of vim. Pure: they return positions and change nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Literal, NamedTuple, TypeAlias

from pi.tui.widgets.editor.buffer import Position, TextUnits, kind_of

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


# Characters and lines -----------------------------------------------------------------------------


def last_column(line: str, units: TextUnits) -> int:
    """Return the column of the last character, where the cursor may stand in normal mode."""
    return units.before(line, len(line)) if line else 0


def first_non_blank(line: str) -> int:
    """Return the column of the first character that is no space."""
    return len(line) - len(line.lstrip()) if line.strip() else max(len(line) - 1, 0)


# Words --------------------------------------------------------------------------------------------


def _find_words(line: str, units: TextUnits, *, big: bool) -> list[tuple[int, int, int]]:
    """Return start, column of the last character, and end of the words of a line."""
    word_spans, column = [], 0
    runs = groupby(units.split(line), lambda unit: _kind(unit, big=big))
    for kind, run in runs:
        parts = list(run)
        end = column + sum(map(len, parts))
        if kind != "blank":
            word_spans.append((column, end - len(parts[-1]), end))
        column = end
    return word_spans


def _kind(unit: str, *, big: bool) -> str:
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


# Characters of a line, and brackets ---------------------------------------------------------------


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


_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_BACK = {close: open for open, close in _PAIRS.items()}


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
    if char in _PAIRS:
        return _matching(lines, position, char, _PAIRS[char], back=False)
    return _matching(lines, position, char, _BACK[char], back=True)


def _matching(
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


# Text objects -------------------------------------------------------------------------------------


def word_object(
    lines: Lines, cursor: Position, units: TextUnits, *, big: bool, around: bool
) -> Span | None:
    """``iw`` and ``aw``: a word or the space between two, with the space behind or before it."""
    line = lines[cursor.row]
    if not line:
        return None
    runs: list[tuple[int, int, bool]] = []
    start = 0
    for kind, run in groupby(units.split(line), lambda unit: _kind(unit, big=big)):
        end = start + sum(map(len, run))
        runs.append((start, end, kind == "blank"))
        start = end
    current = next((n for n, (_, end, _) in enumerate(runs) if cursor.col < end), len(runs) - 1)
    first, last, is_blank = runs[current]
    if around:
        following = runs[current + 1] if current + 1 < len(runs) else None
        if following is not None and (is_blank or following[2]):
            last = following[1]
        elif current and runs[current - 1][2]:
            first = runs[current - 1][0]
    return Span(Position(cursor.row, first), Position(cursor.row, last))


def quote_object(line: str, cursor: Position, quote: str, *, around: bool) -> Span | None:
    """``i"`` and ``a"``: the string around the cursor, or the next one in the line."""
    columns = [
        col for col, char in enumerate(line) if char == quote and line[col - 1 : col] != "\\"
    ]
    for first, last in zip(columns[::2], columns[1::2], strict=False):
        if cursor.col <= last:
            if not around:
                return Span(Position(cursor.row, first + 1), Position(cursor.row, last))
            end = last + 1
            while end < len(line) and line[end] == " ":
                end += 1
            return Span(Position(cursor.row, first), Position(cursor.row, end))
    return None


def bracket_object(lines: Lines, cursor: Position, open: str, *, around: bool) -> Span | None:
    """``i(`` and ``a(``: the text in the innermost pair of brackets around the cursor."""
    close = _PAIRS[open]
    start = _enclosing(lines, cursor, open, close)
    end = None if start is None else _matching(lines, start, open, close, back=False)
    if start is None or end is None:
        return None
    if around:
        return Span(start, Position(end.row, end.col + 1))
    is_block = start.col + 1 == len(lines[start.row]) and not lines[end.row][: end.col].strip()
    if is_block and end.row - start.row > 1:
        last = Position(end.row - 1, len(lines[end.row - 1]))
        return Span(Position(start.row + 1, 0), last, is_lines=True)
    return Span(Position(start.row, start.col + 1), end)


def _enclosing(lines: Lines, cursor: Position, open: str, close: str) -> Position | None:
    """Return the opening bracket of the pair around a position."""
    depth = 0
    for row in range(cursor.row, -1, -1):
        line = lines[row]
        for col in range(
            min(cursor.col, len(line) - 1) if row == cursor.row else len(line) - 1, -1, -1
        ):
            if line[col] == open:
                if not depth:
                    return Position(row, col)
                depth -= 1
            elif line[col] == close and (row, col) != cursor:
                depth += 1
    return None


def paragraph_object(lines: Lines, cursor: Position, *, around: bool) -> Span:
    """``ip`` and ``ap``: lines up to the next blank ones, or the blank ones themselves."""

    def is_blank(row: int) -> bool:
        return not lines[row].strip()

    first = last = cursor.row
    while first > 0 and is_blank(first - 1) == is_blank(cursor.row):
        first -= 1
    while last + 1 < len(lines) and is_blank(last + 1) == is_blank(cursor.row):
        last += 1
    if around:
        before = last
        while last + 1 < len(lines) and is_blank(last + 1) != is_blank(cursor.row):
            last += 1
        if before == last:  # at the end of the text: the blank lines before it
            while first > 0 and is_blank(first - 1) != is_blank(cursor.row):
                first -= 1
    return Span(Position(first, 0), Position(last, len(lines[last])), is_lines=True)


Object: TypeAlias = Callable[[Lines, Position, TextUnits, bool], Span | None]

OBJECTS: dict[str, Object] = {
    "objectWord": lambda lines, cursor, units, around: word_object(
        lines, cursor, units, big=False, around=around
    ),
    "objectBigWord": lambda lines, cursor, units, around: word_object(
        lines, cursor, units, big=True, around=around
    ),
    "objectParagraph": lambda lines, cursor, units, around: paragraph_object(
        lines, cursor, around=around
    ),
    "objectDoubleQuotes": lambda lines, cursor, units, around: quote_object(
        lines[cursor.row], cursor, '"', around=around
    ),
    "objectSingleQuotes": lambda lines, cursor, units, around: quote_object(
        lines[cursor.row], cursor, "'", around=around
    ),
    "objectBackticks": lambda lines, cursor, units, around: quote_object(
        lines[cursor.row], cursor, "`", around=around
    ),
    "objectParentheses": lambda lines, cursor, units, around: bracket_object(
        lines, cursor, "(", around=around
    ),
    "objectBrackets": lambda lines, cursor, units, around: bracket_object(
        lines, cursor, "[", around=around
    ),
    "objectBraces": lambda lines, cursor, units, around: bracket_object(
        lines, cursor, "{", around=around
    ),
    "objectAngles": lambda lines, cursor, units, around: bracket_object(
        lines, cursor, "<", around=around
    ),
}
"""Text objects by the name of their action."""

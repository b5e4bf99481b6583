"""Text objects of vim. Pure: they return spans and change nothing."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import TypeAlias

from pi.tui.widgets.editor.buffer import Position
from pi.tui.widgets.editor.text_units import TextUnits
from pi.tui.widgets.editor.vim_motions import PAIRS, Lines, Span, find_partner, kind_of_unit


def word_object(
    lines: Lines, cursor: Position, units: TextUnits, *, big: bool, around: bool
) -> Span | None:
    """``iw`` and ``aw``: a word or the space between two, with the space behind or before it."""
    line = lines[cursor.row]
    if not line:
        return None
    runs: list[tuple[int, int, bool]] = []
    start = 0
    for kind, run in groupby(units.split(line), lambda unit: kind_of_unit(unit, big=big)):
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
    close = PAIRS[open]
    start = _enclosing(lines, cursor, open, close)
    end = None if start is None else find_partner(lines, start, open, close, back=False)
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

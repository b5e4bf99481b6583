"""Lines of text with a cursor; paste markers, text units, word boundaries and cursor motions."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, groupby
from typing import NamedTuple, TypeAlias

from pi.base.records import Record
from pi.tui.text.width import graphemes


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


MAX_LINES = 10
MAX_CHARACTERS = 1000

_MARKER = r"\[paste #(\d+) (?:\+\d+ lines|\d+ chars)\]"


class PasteMarkers:
    """Long pastes, shown as short markers and submitted in full."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def shorten(self, text: str) -> str:
        """Return a marker for a long text; a short text is unchanged."""
        lines = text.removesuffix("\n").count("\n") + 1  # a final newline begins no further line
        if lines <= MAX_LINES and len(text) <= MAX_CHARACTERS:
            return text
        size = f"+{lines} lines" if lines > MAX_LINES else f"{len(text)} chars"
        marker = f"[paste #{len(self._texts) + 1} {size}]"
        self._texts[marker] = text
        return marker

    def expand(self, text: str) -> str:
        """Return the text with markers replaced by the pasted texts."""
        if not self._texts:
            return text
        return re.sub(_MARKER, lambda match: self._texts.get(match[0], match[0]), text)

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Return the positions of markers in a line. Unknown markers are ordinary text."""
        if not self._texts:
            return []
        return [match.span() for match in re.finditer(_MARKER, line) if match[0] in self._texts]

    def clear(self) -> None:
        """Drop all texts and restart the numbering."""
        self._texts.clear()


Spans = Callable[[str], Sequence[tuple[int, int]]]


class TextUnits:
    """Splits lines into units that the cursor steps over: graphemes and paste markers.

    ``spans`` returns the parts of a line that must not be split.
    """

    def __init__(self, spans: Spans = lambda line: ()) -> None:
        self._spans = spans

    def is_plain(self, line: str) -> bool:
        """Return whether every character of the line is a unit."""
        return line.isascii() and not self._spans(line)

    def split(self, line: str) -> list[str]:
        """Return the units of a line in order."""
        if self.is_plain(line):
            return list(line)
        units: list[str] = []
        position = 0
        for start, end in self._spans(line):
            units += graphemes(line[position:start])
            units.append(line[start:end])
            position = end
        units += graphemes(line[position:])
        return units

    def before(self, line: str, col: int) -> int:
        """Return the start of the unit before a column."""
        if self.is_plain(line):
            return max(col - 1, 0)
        borders = self._borders(line)
        return borders[max(bisect_left(borders, col) - 1, 0)]

    def after(self, line: str, col: int) -> int:
        """Return the end of the unit at a column."""
        if self.is_plain(line):
            return min(col + 1, len(line))
        borders = self._borders(line)
        return borders[min(bisect_right(borders, col), len(borders) - 1)]

    def border(self, line: str, col: int) -> int:
        """Return ``col`` if it is between two units, otherwise the end of the unit around it."""
        if self.is_plain(line):
            return col
        borders = self._borders(line)
        return borders[min(bisect_left(borders, col), len(borders) - 1)]

    def _borders(self, line: str) -> list[int]:
        return [0, *accumulate(map(len, self.split(line)))]


# Word boundaries ----------------------------------------------------------------------------------
#
# Letters, digits and underscores of one script form a word; so do runs of spaces, of ASCII
# punctuation and of other symbols. A word also ends between Han, Hiragana and Katakana, which is
# close to what a reader of Japanese or Chinese expects, without a dictionary.


_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~")

_SCRIPTS = (
    (range(0x3041, 0x30A0), "hiragana"),
    (range(0x30A0, 0x3100), "katakana"),
    (range(0x31F0, 0x3200), "katakana"),
    (range(0xFF66, 0xFFA0), "katakana"),
    (range(0x3400, 0xA000), "han"),
    (range(0xF900, 0xFB00), "han"),
    (range(0x20000, 0x32000), "han"),
)


def first_word(units: Iterable[str]) -> int:
    """Return the number of characters of the leading spaces and the first word."""
    length = 0
    for kind, run in groupby(units, kind_of):
        length += sum(map(len, run))
        if kind != "blank":
            break
    return length


def kind_of(unit: str) -> str:
    """Return the word class of a grapheme; a paste marker is a word by itself."""
    if len(unit) > 1 and unit[0] == "[":
        return unit
    char = unit[0]
    if char.isspace():
        return "blank"
    if char in _PUNCTUATION:
        return "punctuation"
    if char.isascii():
        return "word"
    if char.isalnum():
        return next((script for points, script in _SCRIPTS if ord(char) in points), "word")
    return "sign"


# Cursor motions -----------------------------------------------------------------------------------
#
# A motion returns a position and does not change the buffer.


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

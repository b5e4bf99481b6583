"""Lines of text with a cursor that is always somewhere in them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, groupby
from typing import NamedTuple, TypeAlias

from pi.base.records import Record
from pi.tui.text.width import graphemes


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


# What the cursor steps over as a whole: graphemes, and paste markers.


Spans = Callable[[str], Sequence[tuple[int, int]]]


class TextUnits:
    """Cuts lines into units. ``spans`` tells which parts of a line must not be cut."""

    def __init__(self, spans: Spans = lambda line: ()) -> None:
        self._spans = spans

    def is_plain(self, line: str) -> bool:
        """Whether every character of the line is a unit."""
        return line.isascii() and not self._spans(line)

    def split(self, line: str) -> list[str]:
        """The units of a line, in order."""
        if self.is_plain(line):
            return list(line)
        units: list[str] = []
        at = 0
        for start, end in self._spans(line):
            units += graphemes(line[at:start])
            units.append(line[start:end])
            at = end
        units += graphemes(line[at:])
        return units

    def before(self, line: str, col: int) -> int:
        """Where the unit before a place begins."""
        if self.is_plain(line):
            return max(col - 1, 0)
        borders = self._borders(line)
        return borders[max(bisect_left(borders, col) - 1, 0)]

    def after(self, line: str, col: int) -> int:
        """Where the unit at a place ends."""
        if self.is_plain(line):
            return min(col + 1, len(line))
        borders = self._borders(line)
        return borders[min(bisect_right(borders, col), len(borders) - 1)]

    def border(self, line: str, col: int) -> int:
        """The place itself if it is between two units, else the end of the unit around it."""
        if self.is_plain(line):
            return col
        borders = self._borders(line)
        return borders[min(bisect_left(borders, col), len(borders) - 1)]

    def _borders(self, line: str) -> list[int]:
        return [0, *accumulate(map(len, self.split(line)))]


# Where words begin and end.
#
# Letters, digits and underscores of one script make a word; so do runs of blanks, of ASCII
# punctuation and of other signs. Between Han, Hiragana and Katakana a word ends too, which comes
# close to what a reader of Japanese or Chinese expects without a dictionary.


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
    """How many characters the blanks at the front and the word behind them have."""
    length = 0
    for kind, run in groupby(units, kind_of):
        length += sum(map(len, run))
        if kind != "blank":
            break
    return length


def kind_of(unit: str) -> str:
    """What sort of word a grapheme belongs to; a paste marker is a word by itself."""
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


# Where the cursor goes. Each motion is a question about a buffer; none changes it.


Motion: TypeAlias = Callable[[Buffer, TextUnits], Position]


def left(buffer: Buffer, units: TextUnits) -> Position:
    """One unit back, over line ends too."""
    row, col = buffer.cursor
    if col == 0:
        return _end_of_line_before(buffer)
    return Position(row, units.before(buffer.line, col))


def right(buffer: Buffer, units: TextUnits) -> Position:
    """One unit on, over line ends too."""
    row, col = buffer.cursor
    if col == len(buffer.line):
        return _start_of_line_after(buffer)
    return Position(row, units.after(buffer.line, col))


def word_left(buffer: Buffer, units: TextUnits) -> Position:
    """To the start of the word before, or over one line end."""
    row, col = buffer.cursor
    if col == 0:
        return _end_of_line_before(buffer)
    return Position(row, col - first_word(reversed(units.split(buffer.line[:col]))))


def word_right(buffer: Buffer, units: TextUnits) -> Position:
    """To the end of the word after, or over one line end."""
    row, col = buffer.cursor
    if col == len(buffer.line):
        return _start_of_line_after(buffer)
    return Position(row, col + first_word(units.split(buffer.line[col:])))


def line_start(buffer: Buffer, units: TextUnits) -> Position:
    """To the first column."""
    return Position(buffer.cursor.row, 0)


def line_end(buffer: Buffer, units: TextUnits) -> Position:
    """Behind the last character of the line."""
    return Position(buffer.cursor.row, len(buffer.line))


def before_line(buffer: Buffer, units: TextUnits) -> Position:
    """To the start of the line; from there, behind the line before."""
    return line_start(buffer, units) if buffer.cursor.col else _end_of_line_before(buffer)


def behind_line(buffer: Buffer, units: TextUnits) -> Position:
    """To the end of the line; from there, to the line after."""
    at_end = buffer.cursor.col == len(buffer.line)
    return _start_of_line_after(buffer) if at_end else line_end(buffer, units)


def text_start(buffer: Buffer, units: TextUnits) -> Position:
    """Before everything."""
    return Position(0, 0)


def text_end(buffer: Buffer, units: TextUnits) -> Position:
    """Behind everything."""
    return buffer.end


def forward_to(char: str) -> Motion:
    """A motion to the next ``char``, on whatever line; nowhere if there is none."""

    def motion(buffer: Buffer, units: TextUnits) -> Position:
        row, col = buffer.cursor
        for at, line in enumerate(buffer.lines[row:], row):
            for place in _places(char, line, units):
                if at > row or place > col:
                    return Position(at, place)
        return buffer.cursor

    return motion


def back_to(char: str) -> Motion:
    """A motion to the ``char`` before, on whatever line; nowhere if there is none."""

    def motion(buffer: Buffer, units: TextUnits) -> Position:
        row, col = buffer.cursor
        for at in range(row, -1, -1):
            for place in reversed(_places(char, buffer.lines[at], units)):
                if at < row or place < col:
                    return Position(at, place)
        return buffer.cursor

    return motion


def _places(char: str, line: str, units: TextUnits) -> list[int]:
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

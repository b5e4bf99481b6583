"""Paste markers, and the units of a text that the cursor cannot enter. Pure.

Letters, digits and underscores of one script form a word; so do runs of spaces, of ASCII
punctuation and of other symbols. A word also ends between Han, Hiragana and Katakana, which is
close to what a reader of Japanese or Chinese expects, without a dictionary.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, groupby

from pi.tui.text.width import graphemes

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

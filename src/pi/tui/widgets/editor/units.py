"""What the cursor steps over as a whole: graphemes, and paste markers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

from pi.tui.text.width import graphemes

Spans = Callable[[str], Sequence[tuple[int, int]]]


class Units:
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

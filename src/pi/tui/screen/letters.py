"""The letters of rows: what stays the same when they are wrapped at another width. Pure.

Spaces, borders and indentation change with the width, and terminals disagree about marks and
pictures. Letters and digits stay, in the same order, except for tables.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate

from pi.base.records import Record
from pi.tui.text.ansi import strip_sequences

FEWEST = 10
"""Letters that are too few to know a place by."""


class Place(Record, kw_only=False):
    """A place between two letters of some rows."""

    letters: int
    """How many stand before it."""
    blanks: int = 0
    """How many rows without letters stand between the last letter and it."""
    tail: str = ""
    """What follows the last letter on its row and stands before it, such as a full stop."""


class Letters:
    """The letters of rows, one after the other."""

    def __init__(self, rows: Sequence[str]) -> None:
        self._rows = rows
        of_rows = [letters(row) for row in rows]
        self.text = "".join(of_rows)
        self.starts = [0, *accumulate(map(len, of_rows))]
        """How many letters stand before each row, and at the end."""

    def place(self, row: int) -> Place:
        """The place before a row."""
        count = self.starts[row]
        first = bisect_left(self.starts, count)
        return Place(count, row - first, tail=tail(self._rows[first - 1]) if first else "")

    def row(self, place: Place) -> tuple[int, int]:
        """The row in which a place is, and how many of its letters stand before it there.

        It is the first row that is not over; rows without letters are over as far as it says.
        """
        row = bisect_left(self.starts, place.letters)
        if self.starts[row] > place.letters:
            return row - 1, place.letters - self.starts[row - 1]
        last = min(row + place.blanks, len(self._rows))
        while row < last and self.starts[row + 1] == place.letters:
            row += 1
        return row, 0

    def first_row_with_letters(self, letters: int) -> int:
        """The row of the next letter behind so many."""
        return bisect_right(self.starts, letters) - 1

    def row_start(self, letters: int) -> int:
        """How many letters stand before the row of the next letter behind so many."""
        return self.starts[self.first_row_with_letters(letters)]

    def row_end(self, letters: int) -> int:
        """How many letters stand before the end of the row in which so many are reached."""
        return self.starts[min(bisect_left(self.starts, letters), len(self._rows))]

    def around(self, at: int, count: int) -> tuple[str, str]:
        """At most ``count`` letters on either side of a place."""
        return self.text[max(0, at - count) : at], self.text[at : at + count]

    def weight(self, start: int, end: int) -> int:
        """What is the same for as many letters in another order, as tables say them."""
        return self._weights[end] - self._weights[start]

    @cached_property
    def _weights(self) -> list[int]:
        return [0, *accumulate(ord(letter) ** 3 for letter in self.text)]

    def find(self, before: str, after: str, *, near: int) -> int | None:
        """The place between two texts, nearest to ``near``; None if they say too little."""
        places = (at + len(before) for at in self.places(before + after))
        return min(places, key=lambda place: abs(place - near), default=None)

    def places(self, text: str) -> list[int]:
        """Every place before a text; none if it says too little."""
        places: list[int] = []
        at = self.text.find(text) if len(text) >= FEWEST else -1
        while at >= 0:
            places.append(at)
            at = self.text.find(text, at + 1)
        return places


def letters(row: str) -> str:
    """The letters and digits of a row."""
    return "".join(filter(str.isalnum, strip_sequences(row)))


def tail(row: str) -> str:
    """What a row says behind its last letter."""
    text = strip_sequences(row)
    end = next((at for at in range(len(text), 0, -1) if text[at - 1].isalnum()), 0)
    return text[end:].strip()


def index_behind(text: str, count: int, *, tail: str = "") -> int:
    """Where in a text, free of sequences, it goes on behind its first ``count`` letters.

    Spaces are left out, and ``tail`` if it is what follows, because it was said with them.
    """
    at = seen = 0
    while seen < count and at < len(text):
        seen += text[at].isalnum()
        at += 1
    rest = text[at:].lstrip()
    if tail and rest.startswith(tail):
        rest = rest[len(tail) :].lstrip()
    return len(text) - len(rest)

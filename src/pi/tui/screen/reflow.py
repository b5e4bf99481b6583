"""The letters of rows: what stays the same when they are wrapped at another width. Pure.

Spaces, borders and indentation change with the width, and terminals disagree about marks and
pictures. Letters and digits stay, in the same order, except for tables.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate

from pi.base.records import Record
from pi.tui.screen.rows import Caret, has_certain_width, lines_of
from pi.tui.text.ansi import strip_sequences
from pi.tui.text.width import slice_columns, visible_width

MIN_LETTERS = 10
"""Letters that are too few to know a place by."""


class Place(Record, kw_only=False):
    """A place between two letters of some rows."""

    letters: int
    """How many stand before it."""
    blanks: int = 0
    """How many rows without letters stand between the last letter and it."""
    tail: str = ""
    """What follows the last letter on its row and stands before it, such as a full stop."""


class UnwrappedText:
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
        at = self.text.find(text) if len(text) >= MIN_LETTERS else -1
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


# Where history ends in a frame of another width. Pure.
#
# History keeps its old wrap, so it mostly ends in the middle of a row that is wrapped anew. What
# is left of that row is carried over: it is written behind history, and the frame goes on below
# it. So no part of a line is said twice and none never.


NEAR = 600
"""Rows around the counted place in which the seam is looked for; a table may be as long."""
_CONTEXT = 60
"""Letters on either side of the seam that are compared."""
_FURTHEST = 60
"""Rows of the old frame that are carried over at most, if the seam is in a table."""


class HistoryBoundary(Record, kw_only=False):
    """How a frame continues history."""

    row: int
    """Its first row that is not history."""
    carried: tuple[str, ...] = ()
    """What has to be said before it."""


def find_boundary(
    old: Sequence[str], place: Place, new: Sequence[str], *, width: int, is_whole: bool = True
) -> HistoryBoundary:
    """The seam in ``new``, whose rows say the same as ``old`` but are ``width`` columns wide.

    ``place`` is where history ends in ``old``, which ``is_whole`` if it begins with its frame. Only
    letters are compared, near the place that counting from the end gives; rows that are cut at
    their width make that inexact. The cells of a table say them in another order: then the old rows
    are carried over until both have said the same. If nothing fits the seam is too far up, so that
    rows are written twice rather than never.
    """
    ours = UnwrappedText(old)
    guess = _counted_from_the_end(len(ours.text) - place.letters, new)
    first = max(guess - NEAR, 0)
    theirs = UnwrappedText(new[first : guess + NEAR])
    missing = len(ours.text) - len(theirs.text)
    missing -= sum(len(letters(row)) for row in new[guess + NEAR :])
    row, part = ours.row(place)
    here, carried = place, list[str]()
    found = _known_again(ours, place.letters, theirs, shift=-missing)
    if found is None:
        begun = row + 1 if part else row
        in_step = _next_in_step(
            ours, begun, theirs, shift=-missing, is_whole=is_whole and not first
        )
        if in_step is None:
            return HistoryBoundary(guess)
        end, found = in_step
        here = ours.place(end)
        carried = _left_of(old[row:end], part, place.tail, width=width)
    there, done = theirs.row(Place(found, here.blanks))
    if done:
        carried += _rest(new[first + there], done, here.tail, width=width)
        there += 1
    return HistoryBoundary(first + there, tuple(carried))


def _known_again(ours: UnwrappedText, at: int, theirs: UnwrappedText, *, shift: int) -> int | None:
    """The place in ``theirs`` that stands between the same letters as ``at`` in ours."""
    before, after = ours.around(at, _CONTEXT)
    for left, right in ((before, after), ("", after), (before, "")):
        found = theirs.find(left, right, near=at + shift)
        if found is not None:
            return found
    return None


def _next_in_step(
    ours: UnwrappedText, row: int, theirs: UnwrappedText, *, shift: int, is_whole: bool
) -> tuple[int, int] | None:
    """The first row from ``row`` on before which both have said the same, in whatever order.

    If there is none, the last one above it. Also says how many letters of theirs are before it.
    ``is_whole`` says that both begin with their frame.
    """
    their_starts = set(theirs.starts)
    above: tuple[int, int] | None = None
    for start in range(row, -1, -1):
        at = ours.starts[start]
        before, _ = ours.around(at, _CONTEXT)
        found = 0 if is_whole and not start else theirs.find(before, "", near=at + shift)
        if found is None:
            continue
        above = above or (start, found)
        for end in range(row, min(row + _FURTHEST, len(ours.starts) - 1)):
            there = found + ours.starts[end] - at
            if not found < there <= len(theirs.text) or there not in their_starts:
                continue
            if ours.weight(at, ours.starts[end]) == theirs.weight(found, there):
                return end, there
    return above


def _left_of(rows: Sequence[str], done: int, tail: str, *, width: int) -> list[str]:
    """Old rows behind the first ``done`` letters; the terminal wraps those that it measures alike.

    The others are cut into pieces.
    """
    if not rows:
        return []
    first = _rest(rows[0], done, tail, width=visible_width(rows[0])) if done else [rows[0]]
    return [
        piece
        for row in (*first, *rows[1:])
        for piece in ((row,) if has_certain_width(row) else _pieces(row, width))
    ]


def _rest(row: str, done: int, tail: str, *, width: int) -> list[str]:
    """A row without its first ``done`` letters, but as far to the right as it begins."""
    text = strip_sequences(row)
    at = index_behind(text, done, tail=tail)
    if not text[at:].strip():
        return []
    indent = len(text) - len(text.lstrip())
    return [" " * indent + slice_columns(row, visible_width(text[:at]), width)]


def _pieces(row: str, width: int) -> Iterator[str]:
    """A row in pieces that fit."""
    yield slice_columns(row, 0, width)
    for start in range(width, visible_width(row.rstrip()), width):
        yield slice_columns(row, start, width)


def _counted_from_the_end(count: int, frame: Sequence[str]) -> int:
    """The row with so many letters from there to the end, or the first of blank ones above it."""
    place = len(frame)
    while place > 0 and (count > 0 or not letters(frame[place - 1])):
        place -= 1
        count -= len(letters(frame[place]))
    return place


# What a resize inside a multiplexer does to rows that stand there. Pure.
#
# A multiplexer keeps its own history, which can be neither erased nor written again. It re-wraps
# the rows on its screen by itself, keeps the cursor on its character, and moves what no longer
# fits above it into history. The screen only has to find its rows again.


class Reflowed(Record, kw_only=False):
    """Where things are after a resize."""

    cursor_row: int
    """Rows on the screen above the cursor's, from the first painted one that is there whole."""
    pushed: int
    """How many of the painted rows have left the screen at the top, the last maybe in part."""
    rest: int = 0
    """Rows at the top of the screen that are what is left of that one."""


def reflow(
    painted: Sequence[str], cursor: Caret, *, below: int = 0, width: int, height: int
) -> Reflowed:
    """What becomes of painted rows, none of which was wrapped, on a screen of another size.

    ``below`` counts the empty rows of the screen under them. What no longer fits into the height
    is first given up at the bottom, as far as the cursor; then everything is wrapped, and what is
    too much leaves at the top. This is what tmux does, if the rows were written as
    ``RowPrinter(erases_first=True)`` writes them.
    """
    rows = [*painted, *[""] * below]
    too_many = max(0, len(rows) - height)
    kept = max(cursor.row + 1, len(rows) - too_many)
    heights = [len(lines_of(row, width)) for row in rows[:kept]]
    above = sum(heights[: cursor.row]) + _piece_of(cursor.column, rows[cursor.row], width)
    lost, pushed = max(0, sum(heights) - height), 0
    while pushed < cursor.row and lost > 0:
        lost -= heights[pushed]
        pushed += 1
    gone = sum(heights[:pushed])
    return Reflowed(max(above - gone, 0), pushed, rest=max(-lost, 0))


def _piece_of(column: int, row: str, width: int) -> int:
    """Which line of a wrapped row has a column; the last one what is behind its end."""
    pieces, place = lines_of(row, width), 0
    while place < len(pieces) - 1 and column >= pieces[place]:
        column -= pieces[place]
        place += 1
    return place

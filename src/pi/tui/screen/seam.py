"""Where history ends in a frame of another width. Pure.

History keeps its old wrap, so it mostly ends in the middle of a row that is wrapped anew. What is
left of that row is carried over: it is written behind history, and the frame goes on below it. So
no part of a line is said twice and none never.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pi.base.records import Record
from pi.tui.screen.letters import Letters, Place, index_behind, letters
from pi.tui.screen.rows import has_certain_width
from pi.tui.text.ansi import strip_sequences
from pi.tui.text.slicing import slice_columns
from pi.tui.text.width import visible_width

NEAR = 600
"""Rows around the counted place in which the seam is looked for; a table may be as long."""
_CONTEXT = 60
"""Letters on either side of the seam that are compared."""
_FURTHEST = 60
"""Rows of the old frame that are carried over at most, if the seam is in a table."""


class Seam(Record, kw_only=False):
    """How a frame continues history."""

    row: int
    """Its first row that is not history."""
    carried: tuple[str, ...] = ()
    """What has to be said before it."""


def find_seam(
    old: Sequence[str], place: Place, new: Sequence[str], *, width: int, is_whole: bool = True
) -> Seam:
    """The seam in ``new``, whose rows say the same as ``old`` but are ``width`` columns wide.

    ``place`` is where history ends in ``old``, which ``is_whole`` if it begins with its frame. Only
    letters are compared, near the place that counting from the end gives; rows that are cut at
    their width make that inexact. The cells of a table say them in another order: then the old rows
    are carried over until both have said the same. If nothing fits the seam is too far up, so that
    rows are written twice rather than never.
    """
    ours = Letters(old)
    guess = _counted_from_the_end(len(ours.text) - place.letters, new)
    first = max(guess - NEAR, 0)
    theirs = Letters(new[first : guess + NEAR])
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
            return Seam(guess)
        end, found = in_step
        here = ours.place(end)
        carried = _left_of(old[row:end], part, place.tail, width=width)
    there, done = theirs.row(Place(found, here.blanks))
    if done:
        carried += _rest(new[first + there], done, here.tail, width=width)
        there += 1
    return Seam(first + there, tuple(carried))


def _known_again(ours: Letters, at: int, theirs: Letters, *, shift: int) -> int | None:
    """The place in ``theirs`` that stands between the same letters as ``at`` in ours."""
    before, after = ours.around(at, _CONTEXT)
    for left, right in ((before, after), ("", after), (before, "")):
        found = theirs.find(left, right, near=at + shift)
        if found is not None:
            return found
    return None


def _next_in_step(
    ours: Letters, row: int, theirs: Letters, *, shift: int, is_whole: bool
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

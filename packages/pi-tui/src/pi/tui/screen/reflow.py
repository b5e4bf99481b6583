"""Finds the end of history after a width change. Pure.

Spaces, borders and indentation change with the width, and terminals disagree about combining marks
and images. Letters and digits stay in the same order, except in tables, so only these are compared.
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
"""The minimum number of letters that identify a position."""


class TextPosition(Record, kw_only=False):
    """A position between two letters of some rows."""

    letters: int
    """The number of letters before it."""
    blanks: int = 0
    """The number of rows without letters between the last letter and the position."""
    tail: str = ""
    """What follows the last letter on its row before the position, such as a full stop."""


class UnwrappedText:
    """The letters of rows, concatenated."""

    def __init__(self, rows: Sequence[str]) -> None:
        self._rows = rows
        of_rows = [letters(row) for row in rows]
        self.text = "".join(of_rows)
        self.starts = [0, *accumulate(map(len, of_rows))]
        """The number of letters before each row, and in total."""

    def position(self, row: int) -> TextPosition:
        """Return the position before a row."""
        count = self.starts[row]
        first = bisect_left(self.starts, count)
        return TextPosition(count, row - first, tail=tail(self._rows[first - 1]) if first else "")

    def row(self, position: TextPosition) -> tuple[int, int]:
        """Return the row of a position, and how many of its letters come before the position.

        This is the first row that is not complete.
        """
        row = bisect_left(self.starts, position.letters)
        if self.starts[row] > position.letters:
            return row - 1, position.letters - self.starts[row - 1]
        last = min(row + position.blanks, len(self._rows))
        while row < last and self.starts[row + 1] == position.letters:
            row += 1
        return row, 0

    def first_row_with_letters(self, letters: int) -> int:
        """Return the row of the letter with this index."""
        return bisect_right(self.starts, letters) - 1

    def row_start(self, letters: int) -> int:
        """Return the number of letters before the row of the letter with this index."""
        return self.starts[self.first_row_with_letters(letters)]

    def row_end(self, letters: int) -> int:
        """Return the number of letters before the end of the row that reaches ``letters``."""
        return self.starts[min(bisect_left(self.starts, letters), len(self._rows))]

    def context(self, position: int, count: int) -> tuple[str, str]:
        """Return at most ``count`` letters on each side of a position."""
        return self.text[max(0, position - count) : position], self.text[
            position : position + count
        ]

    def weight(self, start: int, end: int) -> int:
        """Return a sum that is equal for the same letters in another order, as in tables."""
        return self._weights[end] - self._weights[start]

    @cached_property
    def _weights(self) -> list[int]:
        return [0, *accumulate(ord(letter) ** 3 for letter in self.text)]

    def find(self, before: str, after: str, *, near: int) -> int | None:
        """Return the position between two texts nearest to ``near``; None if too short."""
        positions = (start + len(before) for start in self.positions(before + after))
        return min(positions, key=lambda position: abs(position - near), default=None)

    def positions(self, text: str) -> list[int]:
        """Return all positions before a text; none if it is too short."""
        positions: list[int] = []
        index = self.text.find(text) if len(text) >= MIN_LETTERS else -1
        while index >= 0:
            positions.append(index)
            index = self.text.find(text, index + 1)
        return positions


def letters(row: str) -> str:
    """Return the letters and digits of a row."""
    return "".join(filter(str.isalnum, strip_sequences(row)))


def tail(row: str) -> str:
    """Return what follows the last letter of a row."""
    text = strip_sequences(row)
    end = next((index for index in range(len(text), 0, -1) if text[index - 1].isalnum()), 0)
    return text[end:].strip()


def index_after(text: str, count: int, *, tail: str = "") -> int:
    """Return the index in a text without sequences after its first ``count`` letters.

    Spaces are skipped, and ``tail`` if it follows, because it was written with these letters.
    """
    index = seen = 0
    while seen < count and index < len(text):
        seen += text[index].isalnum()
        index += 1
    rest = text[index:].lstrip()
    if tail and rest.startswith(tail):
        rest = rest[len(tail) :].lstrip()
    return len(text) - len(rest)


NEAR = 600
"""Rows around the estimated position that are searched; a table may be this long."""
_CONTEXT = 60
"""Letters on each side of the boundary that are compared."""
_MAX_CARRIED_ROWS = 60
"""Rows of the old frame that are carried over at most, if the boundary is in a table."""


class HistoryBoundary(Record, kw_only=False):
    """The point at which a frame continues history."""

    row: int
    """Its first row that is not history."""
    carried: tuple[str, ...] = ()
    """The text to write before it."""


def find_boundary(
    old: Sequence[str],
    position: TextPosition,
    new: Sequence[str],
    *,
    width: int,
    is_whole: bool = True,
) -> HistoryBoundary:
    """Find the end of history in ``new``, which has the text of ``old`` at ``width`` columns.

    History keeps its old wrap, so it usually ends in the middle of a row that is wrapped
    differently now. The rest of that row is carried over: it is written after history, and the
    frame continues below it. So no part of a line is duplicated or lost.

    ``position`` is the end of history in ``old``; ``is_whole`` means that ``old`` begins with its
    frame. Letters are compared near the position estimated by counting from the end, which is
    inexact if rows are truncated. In a table the letters have another order: then old rows are
    carried over until both texts have had the same letters. Without a match the boundary is moved
    up, so that rows are duplicated rather than lost.
    """
    ours = UnwrappedText(old)
    guess = _row_from_end(len(ours.text) - position.letters, new)
    first = max(guess - NEAR, 0)
    theirs = UnwrappedText(new[first : guess + NEAR])
    missing = len(ours.text) - len(theirs.text)
    missing -= sum(len(letters(row)) for row in new[guess + NEAR :])
    row, part = ours.row(position)
    our_position, carried = position, list[str]()
    their_position = _find_by_context(ours, position.letters, theirs, shift=-missing)
    if their_position is None:
        begun = row + 1 if part else row
        in_step = _next_equal_row(
            ours, begun, theirs, shift=-missing, is_whole=is_whole and not first
        )
        if in_step is None:
            return HistoryBoundary(guess)
        end, their_position = in_step
        our_position = ours.position(end)
        carried = _remaining_rows(old[row:end], part, position.tail, width=width)
    there, done = theirs.row(TextPosition(their_position, our_position.blanks))
    if done:
        carried += _rest(new[first + there], done, our_position.tail, width=width)
        there += 1
    return HistoryBoundary(first + there, tuple(carried))


def _find_by_context(
    ours: UnwrappedText, position: int, theirs: UnwrappedText, *, shift: int
) -> int | None:
    """Find the position in ``theirs`` between the same letters as ``position`` in ours."""
    before, after = ours.context(position, _CONTEXT)
    for left, right in ((before, after), ("", after), (before, "")):
        their_position = theirs.find(left, right, near=position + shift)
        if their_position is not None:
            return their_position
    return None


def _next_equal_row(
    ours: UnwrappedText, row: int, theirs: UnwrappedText, *, shift: int, is_whole: bool
) -> tuple[int, int] | None:
    """Find the first row from ``row`` on before which both texts have the same letters.

    Their order does not matter. If there is none, takes the last such row above. Also returns the
    number of letters before it. ``is_whole`` means that both texts begin with their frame.
    """
    their_starts = set(theirs.starts)
    above: tuple[int, int] | None = None
    for start in range(row, -1, -1):
        our_position = ours.starts[start]
        before, _ = ours.context(our_position, _CONTEXT)
        their_position = (
            0 if is_whole and not start else theirs.find(before, "", near=our_position + shift)
        )
        if their_position is None:
            continue
        above = above or (start, their_position)
        for end in range(row, min(row + _MAX_CARRIED_ROWS, len(ours.starts) - 1)):
            there = their_position + ours.starts[end] - our_position
            if not their_position < there <= len(theirs.text) or there not in their_starts:
                continue
            if ours.weight(our_position, ours.starts[end]) == theirs.weight(their_position, there):
                return end, there
    return above


def _remaining_rows(rows: Sequence[str], done: int, tail: str, *, width: int) -> list[str]:
    """Return the old rows after the first ``done`` letters.

    Rows of certain width are left to the terminal to wrap. The others are split.
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
    """Return a row without its first ``done`` letters, with its indentation."""
    text = strip_sequences(row)
    index = index_after(text, done, tail=tail)
    if not text[index:].strip():
        return []
    indent = len(text) - len(text.lstrip())
    return [" " * indent + slice_columns(row, visible_width(text[:index]), width)]


def _pieces(row: str, width: int) -> Iterator[str]:
    """Split a row to the width."""
    yield slice_columns(row, 0, width)
    for start in range(width, visible_width(row.rstrip()), width):
        yield slice_columns(row, start, width)


def _row_from_end(count: int, frame: Sequence[str]) -> int:
    """Return the row with ``count`` letters from there to the end, or blank rows above it."""
    row = len(frame)
    while row > 0 and (count > 0 or not letters(frame[row - 1])):
        row -= 1
        count -= len(letters(frame[row]))
    return row


class Reflowed(Record, kw_only=False):
    """Positions after a resize."""

    cursor_row: int
    """Screen rows above the cursor, from the first painted row that is there completely."""
    pushed: int
    """The number of painted rows that have left the screen at the top, the last maybe in part."""
    rest: int = 0
    """Rows at the top of the screen that remain of that row."""


def reflow(
    painted: Sequence[str], cursor: Caret, *, below: int = 0, width: int, height: int
) -> Reflowed:
    """Predicts where unwrapped, painted rows are after a resize in a multiplexer.

    A multiplexer keeps its own history, which can be neither erased nor rewritten. It re-wraps the
    rows on its screen, keeps the cursor on its character, and moves what no longer fits into
    history. ``below`` is the number of empty screen rows below the rows. Rows that no longer fit
    the height are first dropped at the bottom, up to the cursor. Then all rows are wrapped, and the
    excess leaves at the top. tmux does this if the rows were written by
    ``RowPrinter(erases_first=True)``.
    """
    rows = [*painted, *[""] * below]
    too_many = max(0, len(rows) - height)
    remaining = max(cursor.row + 1, len(rows) - too_many)
    heights = [len(lines_of(row, width)) for row in rows[:remaining]]
    above = sum(heights[: cursor.row]) + _piece_of(cursor.column, rows[cursor.row], width)
    lost, pushed = max(0, sum(heights) - height), 0
    while pushed < cursor.row and lost > 0:
        lost -= heights[pushed]
        pushed += 1
    gone = sum(heights[:pushed])
    return Reflowed(max(above - gone, 0), pushed, rest=max(-lost, 0))


def _piece_of(column: int, row: str, width: int) -> int:
    """Return the line of a wrapped row that has a column; the last one beyond its end."""
    pieces, line = lines_of(row, width), 0
    while line < len(pieces) - 1 and column >= pieces[line]:
        column -= pieces[line]
        line += 1
    return line

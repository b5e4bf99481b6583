"""What a resize inside a multiplexer does to rows that stand there. Pure.

A multiplexer keeps its own history, which can be neither erased nor written again. It re-wraps
the rows on its screen by itself, keeps the cursor on its character, and moves what no longer fits
above it into history. The screen only has to find its rows again.
"""

from __future__ import annotations

from collections.abc import Sequence

from pi.base.records import Record
from pi.tui.screen.rows import Caret, lines_of


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

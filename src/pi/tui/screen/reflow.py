"""What a resize inside a multiplexer does to rows that stand there. Pure.

A multiplexer keeps its own history, which can be neither erased nor written again. It re-wraps
the rows on its screen by itself, keeps the cursor on its character, and moves what no longer fits
above it into history. The screen only has to find its rows again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pi.tui.screen.rows import Caret
from pi.tui.text.ansi import strip_sequences
from pi.tui.text.width import visible_width


class Reflowed(NamedTuple):
    """Where things are after a resize."""

    cursor_row: int
    """Rows that are now on the screen from the window's first to the cursor's, less one."""
    pushed: int
    """How many of the painted rows have left the screen at the top, whole."""


def reflow(painted: Sequence[str], cursor: Caret, *, width: int, height: int) -> Reflowed:
    """What becomes of painted rows, none of which was wrapped, on a screen of another size."""
    heights = [max(1, -(-visible_width(row) // width)) for row in painted[: cursor.row]]
    above = sum(heights) + cursor.column // width
    lost = max(0, above + 1 - height)
    pushed = 0
    for rows in heights:
        lost -= rows
        if lost < 0:
            break
        pushed += 1
    return Reflowed(cursor_row=min(above, height - 1), pushed=pushed)


def same_place(old_rows: Sequence[str], frame: Sequence[str]) -> int:
    """The row of ``frame`` from which on it says what ``old_rows`` said at another width.

    Letters and digits are counted from the end, since borders and spaces change with the width;
    in doubt the place is too far up, so that a row is written twice rather than never.
    """
    wanted = sum(map(_letters, old_rows))
    place = len(frame)
    while place > 0 and (wanted > 0 or not _letters(frame[place - 1])):
        place -= 1
        wanted -= _letters(frame[place])
    return place


def _letters(row: str) -> int:
    return sum(map(str.isalnum, strip_sequences(row)))

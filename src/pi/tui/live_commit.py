"""How much of a block that still changes will hardly change any more.

A block that is taller than the window must be able to leave its head to history before it is
final; otherwise that head is neither on the screen nor in the scrollback. Two observations say
that rows are settled: the block only ever grows at its end, or its first rows have stayed the same
for many frames. If they change all the same, the screen writes them again: twice, never never.
"""

from __future__ import annotations

from pi.tui.text.ansi import strip_sequences

REARM_FRAMES = 30
"""After a row inside the block was rewritten, so many frames without that make it append-only."""
STABLE_FRAMES = 30
"""Rows that stay the same for so many frames are taken for settled although others change."""


class LiveCommit:
    """Watches the frames of one block."""

    def __init__(self) -> None:
        self._rows: list[str] = []
        self._quiet_frames = REARM_FRAMES
        self._window: int | None = None
        """Rows that were the same in all frames since the count began."""
        self._frames = 0
        self._promoted = 0
        """Rows that were taken for settled because they stayed the same."""
        self._floor: int | None = None
        """The first row that changed after it was taken for settled: it ticks, slowly."""

    def observe(self, rows: list[str]) -> int:
        """Take note of another frame; how many rows from the first are settled."""
        old, self._rows = self._rows, rows
        if rows is not old:
            self._compare(old, rows)
        self._promote(len(rows))
        if self._quiet_frames >= REARM_FRAMES:
            return max(len(rows) - 1, 0)  # the last row may still get longer
        return min(self._promoted, len(rows))

    def _compare(self, old: list[str], rows: list[str]) -> None:
        same = _common(old, rows)
        if same < len(old) - 1:
            self._quiet_frames = 0
            if same < self._promoted:
                self._promoted = same
                self._floor = same if self._floor is None else min(self._floor, same)
        else:
            self._quiet_frames += 1
        self._window = same if self._window is None else min(self._window, same)

    def _promote(self, count: int) -> None:
        self._frames += 1
        if self._frames < STABLE_FRAMES:
            return
        settled = count if self._window is None else self._window
        if self._floor is not None:
            settled = min(settled, self._floor)
        self._promoted = max(self._promoted, settled)
        self._frames, self._window = 0, None


def _common(old: list[str], new: list[str]) -> int:
    """How many first rows say the same; a change of style does not count."""
    length = min(len(old), len(new))
    body = max(length - 1, 0)
    start = body if old[:body] == new[:body] else 0
    for index in range(start, length):
        if old[index] is not new[index] and _text(old[index]) != _text(new[index]):
            return index
    return length


def _text(row: str) -> str:
    return strip_sequences(row).rstrip()

"""A list of blocks that become final, and the early commit of blocks that still change."""

from __future__ import annotations

from collections.abc import Sequence

from pi.tui.component import Component
from pi.tui.text.ansi import strip_sequences

REARM_FRAMES = 30
"""Frames without a rewritten row after which a block counts as append-only again."""
STABLE_FRAMES = 30
"""Frames after which unchanged rows count as stable although other rows change."""


class EarlyCommit:
    """Estimates how many rows of a live block are stable.

    A block that is higher than the window must commit its first rows before it is final. Otherwise
    they are neither on the screen nor in the scrollback. Rows count as stable if the block only
    grows at its end, or if its first rows have not changed for many frames. If they change later,
    the screen writes them again: rows may be duplicated, but never lost.
    """

    def __init__(self) -> None:
        self._rows: list[str] = []
        self._quiet_frames = REARM_FRAMES
        self._window: int | None = None
        """Rows that were equal in all frames since the count began."""
        self._frames = 0
        self._promoted = 0
        """Rows that count as stable because they did not change."""
        self._floor: int | None = None
        """The first row that changed after it counted as stable: it changes slowly."""

    def observe(self, rows: list[str]) -> int:
        """Observes a frame. Returns how many rows from the first are stable."""
        old, self._rows = self._rows, rows
        if rows is not old:
            self._compare(old, rows)
        self._promote(len(rows))
        if self._quiet_frames >= REARM_FRAMES:
            return max(len(rows) - 1, 0)  # the last row may still grow
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
    """Return how many first rows have the same text; a change of style does not count."""
    length = min(len(old), len(new))
    body = max(length - 1, 0)
    start = body if old[:body] == new[:body] else 0
    for index in range(start, length):
        if old[index] is not new[index] and _text(old[index]) != _text(new[index]):
            return index
    return length


def _text(row: str) -> str:
    return strip_sequences(row).rstrip()


class Transcript:
    """A growing list of blocks: the long part of a screen.

    A block is final if its ``is_final`` is true or, without that member, if it has no live region.
    The rows of final blocks at the start are kept as drawn: they cost nothing and cannot change
    after they became history. They are drawn again only for another width or after ``invalidate``.
    From the first block that is not final on, all rows are live. A block may report its stable rows
    in ``commit_safe_end``; otherwise they are estimated.
    """

    def __init__(self) -> None:
        self._blocks: list[Component] = []
        self._width = -1
        self._frozen: list[str] = []
        self._frozen_starts: list[int] = []
        self._frozen_blocks = 0
        self._lines: list[str] = []
        self._live_lines: list[list[str]] = []
        self._is_stale = True
        """Whether ``_lines`` must be joined again even if no live block changed."""
        self._watch: tuple[Component, EarlyCommit] | None = None
        self.live_region_start: int | None = None
        """The first row of the first block that was not final, when drawn last."""
        self.commit_safe_end: int | None = None
        """The end of the stable rows of that block."""

    @property
    def children(self) -> tuple[Component, ...]:
        """The first block that may still change, and all blocks after it."""
        return tuple(self._blocks[self._frozen_blocks :])

    def add_child(self, block: Component) -> None:
        """Add a block at the end."""
        self._blocks.append(block)

    def remove_child(self, block: Component) -> None:
        """Remove a block; does nothing if it is not in the list."""
        for index, own in enumerate(self._blocks):
            if own is block:
                del self._blocks[index]
                if index < self._frozen_blocks:
                    self._thaw()
                return

    def replace_child(self, block: Component, others: Sequence[Component]) -> None:
        """Replace a block by others; does nothing if it is not in the list."""
        for index, own in enumerate(self._blocks):
            if own is block:
                self._blocks[index : index + 1] = others
                self._thaw()
                return

    def clear(self) -> None:
        """Remove all blocks."""
        self._blocks.clear()
        self._thaw()

    def invalidate(self) -> None:
        """Draw every block again, including final ones: the theme or the folding changed."""
        self._thaw()
        for block in self._blocks:
            block.invalidate()

    def render(self, width: int) -> list[str]:
        """Return the rows of all blocks."""
        if width != self._width:
            self._width = width
            self._thaw()
        self._freeze()
        live = [block.render(width) for block in self._blocks[self._frozen_blocks :]]
        if self._is_stale or not _same_objects(live, self._live_lines):
            self._live_lines, self._is_stale = live, False
            self._lines = [*self._frozen, *(row for rows in live for row in rows)]
        start = len(self._frozen)
        self.live_region_start = start if live else None
        self.commit_safe_end = start + self._observe(live[0]) if live else None
        return self._lines

    @property
    def block_starts(self) -> list[int]:
        """The first rows of the blocks that were drawn last."""
        starts, row = list(self._frozen_starts), len(self._frozen)
        for rows in self._live_lines:
            starts.append(row)
            row += len(rows)
        return starts

    def _thaw(self) -> None:
        self._frozen, self._frozen_blocks, self._is_stale = [], 0, True
        self._frozen_starts = []

    def _freeze(self) -> None:
        """Keep the rows of blocks that have become final."""
        while self._frozen_blocks < len(self._blocks):
            block = self._blocks[self._frozen_blocks]
            if not _is_final(block):
                break
            self._frozen_starts.append(len(self._frozen))
            self._frozen += block.render(self._width)
            self._frozen_blocks += 1
            self._is_stale = True

    def _observe(self, rows: list[str]) -> int:
        block = self._blocks[self._frozen_blocks]
        declared: int | None = getattr(block, "commit_safe_end", None)
        if declared is not None:
            return declared
        if self._watch is None or self._watch[0] is not block:
            self._watch = (block, EarlyCommit())
        live_start: int = getattr(block, "live_region_start", None) or 0
        return max(live_start, self._watch[1].observe(rows))


def _is_final(block: Component) -> bool:
    declared: bool | None = getattr(block, "is_final", None)
    return getattr(block, "live_region_start", None) is None if declared is None else declared


def _same_objects(new: list[list[str]], old: list[list[str]]) -> bool:
    return len(new) == len(old) and all(a is b for a, b in zip(new, old, strict=True))

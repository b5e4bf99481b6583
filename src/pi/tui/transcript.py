"""Blocks that come one after the other, are final at some time, and never change after that."""

from __future__ import annotations

from collections.abc import Sequence

from pi.tui.component import Component
from pi.tui.live_commit import LiveCommit


class Transcript:
    """A growing list of blocks: the long part of a screen.

    A block is final if its ``is_final`` says so or, without that, if it has no live region. The
    rows of final blocks at the beginning are kept as they were drawn, so they cost nothing and
    cannot change after they became history; they are drawn again only for another width or after
    ``invalidate``. From the first block that is not final on, all rows are live. A block may tell
    by ``commit_safe_end`` which of its rows are settled; otherwise that is observed.
    """

    def __init__(self) -> None:
        self._blocks: list[Component] = []
        self._width = -1
        self._frozen: list[str] = []
        self._frozen_blocks = 0
        self._lines: list[str] = []
        self._live_lines: list[list[str]] = []
        self._is_stale = True
        """Whether ``_lines`` must be put together again whatever the live blocks say."""
        self._watch: tuple[Component, LiveCommit] | None = None
        self._safe_rows: int | None = None

    @property
    def children(self) -> tuple[Component, ...]:
        """The blocks that may still change, and those after them."""
        return tuple(self._blocks[self._frozen_blocks :])

    def add_child(self, block: Component) -> None:
        """Put a block below the others."""
        self._blocks.append(block)

    def remove_child(self, block: Component) -> None:
        """Take a block out; nothing happens if it is not here."""
        for index, own in enumerate(self._blocks):
            if own is block:
                del self._blocks[index]
                if index < self._frozen_blocks:
                    self._thaw()
                return

    def replace_child(self, block: Component, others: Sequence[Component]) -> None:
        """Put other blocks in the place of one; nothing happens if it is not here."""
        for index, own in enumerate(self._blocks):
            if own is block:
                self._blocks[index : index + 1] = others
                self._thaw()
                return

    def clear(self) -> None:
        """Take all blocks out."""
        self._blocks.clear()
        self._thaw()

    def invalidate(self) -> None:
        """Draw every block anew, also final ones: the theme changed, or what is folded."""
        self._thaw()
        for block in self._blocks:
            block.invalidate()

    def render(self, width: int) -> list[str]:
        """The rows of all blocks."""
        if width != self._width:
            self._width = width
            self._thaw()
        self._freeze()
        live = [block.render(width) for block in self._blocks[self._frozen_blocks :]]
        if self._is_stale or not _same_objects(live, self._live_lines):
            self._live_lines, self._is_stale = live, False
            self._lines = [*self._frozen, *(row for rows in live for row in rows)]
        self._safe_rows = self._observe(live[0]) if live else None
        return self._lines

    @property
    def live_region_start(self) -> int | None:
        """The first row of the first block that is not final."""
        return None if self._safe_rows is None else len(self._frozen)

    @property
    def commit_safe_end(self) -> int | None:
        """Where the settled rows of that block end."""
        return None if self._safe_rows is None else len(self._frozen) + self._safe_rows

    def _thaw(self) -> None:
        self._frozen, self._frozen_blocks, self._is_stale = [], 0, True

    def _freeze(self) -> None:
        """Keep the rows of blocks that have become final."""
        while self._frozen_blocks < len(self._blocks):
            block = self._blocks[self._frozen_blocks]
            if not _is_final(block):
                break
            self._frozen += block.render(self._width)
            self._frozen_blocks += 1
            self._is_stale = True

    def _observe(self, rows: list[str]) -> int:
        block = self._blocks[self._frozen_blocks]
        told: int | None = getattr(block, "commit_safe_end", None)
        if told is not None:
            return told
        if self._watch is None or self._watch[0] is not block:
            self._watch = (block, LiveCommit())
        live_start: int = getattr(block, "live_region_start", None) or 0
        return max(live_start, self._watch[1].observe(rows))


def _is_final(block: Component) -> bool:
    told: bool | None = getattr(block, "is_final", None)
    return getattr(block, "live_region_start", None) is None if told is None else told


def _same_objects(new: list[list[str]], old: list[list[str]]) -> bool:
    return len(new) == len(old) and all(a is b for a, b in zip(new, old, strict=True))

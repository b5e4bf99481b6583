"""Components one below the other, remembered so that only what changed is put together again."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence

from pi.tui.component import Area, Component


class _CachedChild:
    """A child's rows as they were last drawn, and what it said about their future."""

    __slots__ = ("child", "lines", "live_start", "offset", "safe_end")

    def __init__(self, child: Component) -> None:
        self.child = child
        self.offset = 0
        self.lines: list[str] | None = None
        self.live_start: int | None = None
        self.safe_end: int | None = None

    def draw(self, width: int) -> bool:
        """Draw the child; whether its rows are others than before."""
        lines = self.child.render(width)
        self.live_start = getattr(self.child, "live_region_start", None)
        self.safe_end = getattr(self.child, "commit_safe_end", None)
        changed = lines is not self.lines
        self.lines = lines
        return changed


class Container:
    """Children from top to bottom.

    A child whose rows are the same list object as before costs one call; the rows of all children
    are put together again only from the first one that changed.
    """

    def __init__(self, *children: Component) -> None:
        self._slots = [_CachedChild(child) for child in children]
        self._lines: list[str] = []
        self._width = -1
        self._stale_from: int | None = 0
        """The first child whose rows are not in ``_lines`` as they should be; None if all are."""
        self._live: _CachedChild | None = None

    @property
    def children(self) -> tuple[Component, ...]:
        """The children from top to bottom."""
        return tuple(slot.child for slot in self._slots)

    def add_child(self, child: Component) -> None:
        """Put a child below the others."""
        self._slots.append(_CachedChild(child))
        self._mark_stale(len(self._slots) - 1)

    def insert_child(self, index: int, child: Component) -> None:
        """Put a child above the one at ``index``."""
        self._slots.insert(index, _CachedChild(child))
        self._mark_stale(index)

    def remove_child(self, child: Component) -> None:
        """Take a child out; nothing happens if it is not here."""
        for index, slot in enumerate(self._slots):
            if slot.child is child:
                del self._slots[index]
                self._mark_stale(index)
                return

    def clear(self) -> None:
        """Take all children out."""
        self._slots.clear()
        self._mark_stale(0)

    def render(self, width: int) -> list[str]:
        """The children's rows, one child below the other."""
        self._width = width
        return self._draw(self._slots)

    def render_parts(self, width: int, changed: Collection[Component]) -> list[str]:
        """Like ``render``, but only children that are or hold one of ``changed`` are drawn."""
        if width != self._width or self._stale_from is not None:
            return self.render(width)
        return self._draw(self._slots_holding({id(component) for component in changed}))

    def invalidate(self) -> None:
        """Make every child forget what it remembers."""
        for slot in self._slots:
            slot.child.invalidate()

    @property
    def live_region_start(self) -> int | None:
        """Where the first live region among the children begins."""
        live = self._live
        return None if live is None or live.live_start is None else live.offset + live.live_start

    @property
    def commit_safe_end(self) -> int | None:
        """Where the settled head of that live region ends, if its owner knows."""
        live = self._live
        return None if live is None or live.safe_end is None else live.offset + live.safe_end

    def areas_at(self, row: int) -> list[Area]:
        """The child on a row, if there is one."""
        place = bisect_right(self._slots, row, key=lambda slot: slot.offset) - 1
        if place < 0:
            return []
        slot = self._slots[place]
        return [Area(slot.child, slot.offset, 0, self._width, len(slot.lines or ()))]

    @property
    def transient_rows(self) -> int:
        """How many of the children's rows go away soon."""
        return sum(getattr(slot.child, "transient_rows", 0) for slot in self._slots)

    @property
    def staying_start(self) -> int | None:
        """Where the children begin that stay in the window; None if none do."""
        staying = (slot for slot in self._slots if getattr(slot.child, "stays_in_window", False))
        first = next(staying, None)
        return None if first is None else first.offset

    def _mark_stale(self, index: int) -> None:
        # A negative index counts from the end, as in a list; joining from the top is always right.
        index = max(index, 0)
        self._stale_from = index if self._stale_from is None else min(self._stale_from, index)

    def _draw(self, slots: Sequence[_CachedChild]) -> list[str]:
        changed = [slot for slot in slots if slot.draw(self._width)]
        if changed:
            self._mark_stale(self._slots.index(changed[0]))
        if self._stale_from is not None:
            self._join(self._stale_from)
            self._stale_from = None
        self._live = next((slot for slot in self._slots if slot.live_start is not None), None)
        return self._lines

    def _join(self, first: int) -> None:
        """Put the rows together anew from the child at ``first``."""
        above = self._slots[first - 1] if first else None
        lines = self._lines[: above.offset + len(above.lines or ())] if above else []
        for slot in self._slots[first:]:
            slot.offset = len(lines)
            lines += slot.lines or ()
        self._lines = lines

    def _slots_holding(self, ids: set[int]) -> list[_CachedChild]:
        """The children that are or hold the components with these ids, from top to bottom."""
        found: list[_CachedChild] = []
        for slot in reversed(self._slots):  # what ticks stands mostly below a long history
            held = _ids_within(slot.child, ids)
            if held:
                found.append(slot)
                ids = ids - held
            if not ids:
                break
        return found[::-1]


def _ids_within(component: Component, ids: set[int]) -> set[int]:
    """Those of ``ids`` that are the id of a component or of something inside it."""
    found = {id(component)} & ids
    for child in getattr(component, "children", ()):
        if found == ids:
            break
        found |= _ids_within(child, ids)
    return found


# Empty rows.


class Spacer:
    """Nothing, for a number of rows."""

    def __init__(self, rows: int = 1) -> None:
        self.set_rows(rows)

    def set_rows(self, rows: int) -> None:
        """Take another number of rows."""
        self._rows = [""] * rows

    def invalidate(self) -> None:
        """Nothing is remembered."""

    def render(self, width: int) -> list[str]:
        """Empty rows."""
        return self._rows

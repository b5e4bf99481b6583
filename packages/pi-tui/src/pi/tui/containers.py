"""Drawing only what changed: the base class of widgets, and containers that stack components."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Collection, Sequence

from pi.tui.component import Area, Component


class CachedWidget(ABC):
    """A component that is drawn again only if it, the width or its cache key changed.

    A subclass implements ``_draw`` and calls ``invalidate`` when its state changes.
    ``_cache_key`` returns everything else that the rows depend on. A base class, because every
    widget needs the same ``render`` and ``invalidate``.
    """

    _drawn_for: tuple[int, object] | None = None
    _drawn_rows: list[str] = []  # noqa: RUF012 (replaced, never changed)

    def invalidate(self) -> None:
        """Discard cached rows."""
        self._drawn_for = None

    def render(self, width: int) -> list[str]:
        """Return the rows: the same list as before if nothing changed, which the screen skips."""
        key = (width, self._cache_key())
        if key != self._drawn_for:
            self._drawn_rows = self._draw(width)
            self._drawn_for = key
        return self._drawn_rows

    def _cache_key(self) -> object:
        return None

    @abstractmethod
    def _draw(self, width: int) -> list[str]: ...


class _CachedChild:
    """A child with its rows and live region as last drawn."""

    __slots__ = ("child", "lines", "live_start", "offset", "safe_end")

    def __init__(self, child: Component) -> None:
        self.child = child
        self.offset = 0
        self.lines: list[str] | None = None
        self.live_start: int | None = None
        self.safe_end: int | None = None

    def draw(self, width: int) -> bool:
        """Draw the child. Returns whether its rows changed."""
        lines = self.child.render(width)
        self.live_start = getattr(self.child, "live_region_start", None)
        self.safe_end = getattr(self.child, "commit_safe_end", None)
        changed = lines is not self.lines
        self.lines = lines
        return changed


class Container:
    """Stacks children from top to bottom.

    A child that returns the same list object as before costs one call. The rows are joined again
    only from the first child that changed.
    """

    def __init__(self, *children: Component) -> None:
        self._cached = [_CachedChild(child) for child in children]
        self._lines: list[str] = []
        self._width = -1
        self._stale_from: int | None = 0
        """The first child whose rows in ``_lines`` are outdated; None if all are current."""
        self._live: _CachedChild | None = None

    @property
    def children(self) -> tuple[Component, ...]:
        """The children from top to bottom."""
        return tuple(cached.child for cached in self._cached)

    def add_child(self, child: Component) -> None:
        """Add a child at the bottom."""
        self._cached.append(_CachedChild(child))
        self._mark_stale(len(self._cached) - 1)

    def insert_child(self, index: int, child: Component) -> None:
        """Insert a child before the one at ``index``."""
        self._cached.insert(index, _CachedChild(child))
        self._mark_stale(index)

    def remove_child(self, child: Component) -> None:
        """Remove a child; does nothing if it is not a child."""
        for index, cached in enumerate(self._cached):
            if cached.child is child:
                del self._cached[index]
                self._mark_stale(index)
                return

    def clear(self) -> None:
        """Remove all children."""
        self._cached.clear()
        self._mark_stale(0)

    def render(self, width: int) -> list[str]:
        """Return the rows of all children."""
        self._width = width
        return self._draw(self._cached)

    def render_parts(self, width: int, changed: Collection[Component]) -> list[str]:
        """Like ``render``, but draws only children that are or contain one of ``changed``."""
        if width != self._width or self._stale_from is not None:
            return self.render(width)
        return self._draw(self._cached_containing({id(component) for component in changed}))

    def invalidate(self) -> None:
        """Invalidate every child."""
        for cached in self._cached:
            cached.child.invalidate()

    @property
    def live_region_start(self) -> int | None:
        """The start of the first live region among the children."""
        live = self._live
        return None if live is None or live.live_start is None else live.offset + live.live_start

    @property
    def commit_safe_end(self) -> int | None:
        """The end of the stable rows of that live region, if known."""
        live = self._live
        return None if live is None or live.safe_end is None else live.offset + live.safe_end

    @property
    def first_changing_row(self) -> int | None:
        """The first row that may still change, as far as it is known; None if no row may."""
        safe = self.commit_safe_end
        return self.live_region_start if safe is None else safe

    def areas_at(self, row: int) -> list[Area]:
        """Return the area of the child on a row, if any."""
        index = bisect_right(self._cached, row, key=lambda cached: cached.offset) - 1
        if index < 0:
            return []
        cached = self._cached[index]
        return [Area(cached.child, cached.offset, 0, self._width, len(cached.lines or ()))]

    @property
    def transient_rows(self) -> int:
        """The number of the children's rows that will disappear soon."""
        return sum(getattr(cached.child, "transient_rows", 0) for cached in self._cached)

    @property
    def block_starts(self) -> list[int]:
        """The first rows of all blocks; a child without blocks is one."""
        starts: list[int] = []
        for cached in self._cached:
            of_child: Sequence[int] | None = getattr(cached.child, "block_starts", None)
            if of_child is None:
                of_child = (0,) if cached.lines else ()
            starts += [cached.offset + start for start in of_child]
        return starts

    @property
    def staying_start(self) -> int | None:
        """The first row of the children that stay in the window; None if there is none."""
        staying = (
            cached for cached in self._cached if getattr(cached.child, "stays_in_window", False)
        )
        first = next(staying, None)
        return None if first is None else first.offset

    def _mark_stale(self, index: int) -> None:
        # A negative index counts from the end, as in a list. Joining from the top is always
        # correct.
        index = max(index, 0)
        self._stale_from = index if self._stale_from is None else min(self._stale_from, index)

    def _draw(self, cached_children: Sequence[_CachedChild]) -> list[str]:
        changed = [cached for cached in cached_children if cached.draw(self._width)]
        if changed:
            self._mark_stale(self._cached.index(changed[0]))
        if self._stale_from is not None:
            self._join(self._stale_from)
            self._stale_from = None
        self._live = next(
            (cached for cached in self._cached if cached.live_start is not None), None
        )
        return self._lines

    def _join(self, first: int) -> None:
        """Join the rows again, starting at the child at ``first``."""
        above = self._cached[first - 1] if first else None
        lines = self._lines[: above.offset + len(above.lines or ())] if above else []
        for cached in self._cached[first:]:
            cached.offset = len(lines)
            lines += cached.lines or ()
        self._lines = lines

    def _cached_containing(self, ids: set[int]) -> list[_CachedChild]:
        """Return the children that are or contain the components with these ids."""
        cached_children: list[_CachedChild] = []
        # Components that tick are usually below a long history.
        for cached in reversed(self._cached):
            held = _ids_within(cached.child, ids)
            if held:
                cached_children.append(cached)
                ids = ids - held
            if not ids:
                break
        return cached_children[::-1]


def _ids_within(component: Component, ids: set[int]) -> set[int]:
    """Return those of ``ids`` that belong to a component or to its descendants."""
    matching_ids = {id(component)} & ids
    for child in getattr(component, "children", ()):
        if matching_ids == ids:
            break
        matching_ids |= _ids_within(child, ids)
    return matching_ids


class Spacer:
    """Empty rows."""

    def __init__(self, rows: int = 1) -> None:
        self.set_rows(rows)

    def set_rows(self, rows: int) -> None:
        """Change the number of rows."""
        self._rows = [""] * rows

    def invalidate(self) -> None:
        """Do nothing: a spacer has no cache."""

    def render(self, width: int) -> list[str]:
        """Return empty rows."""
        return self._rows

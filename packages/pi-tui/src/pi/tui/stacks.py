"""Vertical and horizontal stacks with gaps, alignment and flexible sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from pi.base.records import Record
from pi.tui.component import Area, Component
from pi.tui.text.ansi import SEQUENCE, StyleState
from pi.tui.text.width import pad_to_width, slice_columns, visible_width


class Flex(Record):
    """How much of a stack's length an entry gets."""

    basis: int | None = None
    """Cells before free space is distributed; None uses the size of the content."""
    grow: int = 0
    """Its share of the free space."""
    shrink: int = 1
    """Its share of the missing space, in proportion to its size."""
    min_size: int = 0
    max_size: int | None = None
    visible: Callable[[], bool] | None = None

    @property
    def is_visible(self) -> bool:
        """Whether the entry is part of the layout."""
        return self.visible is None or self.visible()

    def clamped(self, size: int) -> int:
        """Return ``size`` within the limits."""
        if self.max_size is not None:
            size = min(size, self.max_size)
        return max(size, self.min_size, 0)


def share(length: int, entries: Sequence[Flex], natural: Sequence[int]) -> list[int]:
    """Distributes ``length`` cells to ``entries``, given the sizes of their contents.

    The sizes add up to ``length`` if entries can grow or shrink that far. They exceed it only
    because of minimum sizes.
    """
    sizes = [
        flex.clamped(need if flex.basis is None else flex.basis)
        for flex, need in zip(entries, natural, strict=True)
    ]
    while (remaining := length - sum(sizes)) != 0:
        step = 1 if remaining > 0 else -1
        weights = [_weight(flex, size, step) for flex, size in zip(entries, sizes, strict=True)]
        total = sum(weights)
        if not total:
            break
        before = list(sizes)
        for index, weight in enumerate(weights):
            part = abs(remaining) * weight // total
            sizes[index] = entries[index].clamped(sizes[index] + step * part)
        if sizes == before:  # less than one cell each: distribute single cells, in order
            for index in [position for position, weight in enumerate(weights) if weight][
                : abs(remaining)
            ]:
                sizes[index] += step
    return sizes


def _weight(flex: Flex, size: int, step: int) -> int:
    """Return the weight of an entry for growing or shrinking; 0 at its limit."""
    if flex.clamped(size + step) != size + step:
        return 0
    return flex.grow if step > 0 else flex.shrink * size


Align: TypeAlias = Literal["stretch", "start", "center", "end"]

_SHARES: dict[Align, float] = {"stretch": 0.0, "start": 0.0, "center": 0.5, "end": 1.0}


@runtime_checkable
class Fitting(Protocol):
    """A component that can fill a given height, such as a scroll view."""

    def render_in(self, width: int, height: int) -> list[str]:
        """Return exactly ``height`` rows."""
        ...


class _Stack:
    """The common part of both directions: entries and their areas."""

    def __init__(self, *children: Component, gap: int = 0, align: Align = "stretch") -> None:
        self.gap = gap
        self.align: Align = align
        self.areas: list[Area] = []
        """The areas of the visible children, as last drawn."""
        self._entries: list[tuple[Component, Flex | None]] = []
        for child in children:
            self.add_child(child)

    @property
    def children(self) -> tuple[Component, ...]:
        """The children in order."""
        return tuple(child for child, _ in self._entries)

    def add_child(self, child: Component, flex: Flex | None = None) -> None:
        """Add a child at the end.

        By default, a scroll view and a stack that contains one fill the free space.
        """
        self._entries.append((child, flex))

    def remove_child(self, child: Component) -> None:
        """Remove a child; does nothing if it is not a child."""
        self._entries = [entry for entry in self._entries if entry[0] is not child]

    def clear(self) -> None:
        """Remove all children."""
        self._entries.clear()

    def areas_at(self, row: int) -> list[Area]:
        """Return the areas of the children on a row, from left to right."""
        return [area for area in self.areas if area.row <= row < area.row + area.height]

    def invalidate(self) -> None:
        """Invalidate every child."""
        for child, _ in self._entries:
            child.invalidate()

    def _visible(self) -> list[tuple[Component, Flex]]:
        entries = [(child, flex or _default_flex(child)) for child, flex in self._entries]
        return [(child, flex) for child, flex in entries if flex.is_visible]


class VStack(_Stack):
    """Stacks children from top to bottom; ``align`` positions narrower ones horizontally."""

    def render(self, width: int) -> list[str]:
        """Return as many rows as the children need."""
        return self._stacked(width, [(child, None) for child, _ in self._visible()])

    def render_in(self, width: int, height: int) -> list[str]:
        """Return exactly ``height`` rows, distributed to the children."""
        entries = self._visible()
        natural = [
            0 if flex.basis is not None else len(child.render(width)) for child, flex in entries
        ]
        available = max(0, height - self.gap * max(0, len(entries) - 1))
        sizes = share(available, [flex for _, flex in entries], natural)
        children = [child for child, _ in entries]
        return _filled(self._stacked(width, list(zip(children, sizes, strict=True))), height)

    def _stacked(self, width: int, entries: list[tuple[Component, int | None]]) -> list[str]:
        rows: list[str] = []
        self.areas = []
        for number, (child, height) in enumerate(entries):
            if number:
                rows += [""] * self.gap
            lines = _lines(child, width, height)
            column = 0
            if self.align not in ("stretch", "start"):
                widest = max(map(visible_width, lines), default=0)
                column = int((width - widest) * _SHARES[self.align])
                lines = [" " * column + line for line in lines]
            self.areas.append(Area(child, len(rows), column, width - column, len(lines)))
            rows += lines
        return rows


class HStack(_Stack):
    """Arranges children from left to right; ``align`` positions lower ones vertically."""

    def render(self, width: int) -> list[str]:
        """Return as many rows as the highest child needs."""
        return self._render_columns(width, None)

    def render_in(self, width: int, height: int) -> list[str]:
        """Return exactly ``height`` rows, which every child may fill."""
        return self._render_columns(width, height)

    def _render_columns(self, width: int, height: int | None) -> list[str]:
        entries = self._visible()
        natural = [
            0 if flex.basis is not None else max(map(visible_width, child.render(width)), default=0)
            for child, flex in entries
        ]
        available = max(0, width - self.gap * max(0, len(entries) - 1))
        widths = share(available, [flex for _, flex in entries], natural)
        columns = [
            _column(child, size, height) if size else []
            for (child, _), size in zip(entries, widths, strict=True)
        ]
        if height is None:
            height = max(map(len, columns), default=0)
        rows = [""] * height
        self.areas = []
        column = 0
        for (child, _), size, lines in zip(entries, widths, columns, strict=True):
            if not size:
                continue
            above = int((height - len(lines)) * _SHARES[self.align])
            self.areas.append(Area(child, above, column, size, len(lines)))
            for number, line in enumerate(lines, above):
                rows[number] = pad_to_width(rows[number], column) + _closed(line, size)
            column += size + self.gap
        return [slice_columns(row, 0, width) if visible_width(row) > width else row for row in rows]


def _default_flex(child: Component) -> Flex:
    return Flex(grow=1, basis=0) if _fills(child) else Flex()


def _fills(child: object) -> bool:
    """Return whether a component can be drawn at any height."""
    if isinstance(child, _Stack):
        return any(map(_fills, child.children))
    return isinstance(child, Fitting)


def _column(child: Component, width: int, height: int | None) -> list[str]:
    """Return the rows of a child that has others beside it."""
    if height is None:
        return child.render(width)
    return _lines(child, width, height) if _fills(child) else child.render(width)[:height]


def _lines(child: Component, width: int, height: int | None) -> list[str]:
    if height is None:
        return child.render(width)
    target: object = child
    if isinstance(target, Fitting):
        return target.render_in(width, height)
    return _filled(child.render(width), height)


def _closed(line: str, width: int) -> str:
    """Return a line that is padded to the width and closes its styles."""
    if visible_width(line) > width:
        return slice_columns(line, 0, width)
    state = StyleState()
    for sequence in SEQUENCE.findall(line):
        state.apply(sequence)
    return line + state.closing()


def _filled(rows: list[str], height: int) -> list[str]:
    return rows[:height] + [""] * (height - len(rows))

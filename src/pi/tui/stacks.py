"""Components one below or beside the other, with gaps, alignment and shares of the space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from pi.base.records import Record
from pi.tui.component import Area, Component
from pi.tui.text.ansi import SEQUENCE, StyleState
from pi.tui.text.width import pad_to_width, slice_columns, visible_width

# Shares a length among entries that want some of it. Pure.


class Flex(Record):
    """How much of a stack's length an entry gets."""

    basis: int | None = None
    """Cells before anything is shared out; None takes what the content needs."""
    grow: int = 0
    """Its part of what is left over."""
    shrink: int = 1
    """Its part of what is missing, in proportion to its size."""
    min_size: int = 0
    max_size: int | None = None
    visible: Callable[[], bool] | None = None

    @property
    def is_visible(self) -> bool:
        """Whether the entry takes part at all."""
        return self.visible is None or self.visible()

    def clamped(self, size: int) -> int:
        """``size`` inside the limits."""
        if self.max_size is not None:
            size = min(size, self.max_size)
        return max(size, self.min_size, 0)


def share(length: int, entries: Sequence[Flex], natural: Sequence[int]) -> list[int]:
    """The sizes of ``entries`` in ``length`` cells, given what their content needs.

    They add up to ``length`` if anything may grow or shrink that far, and never to more unless
    minimum sizes say so.
    """
    sizes = [
        flex.clamped(need if flex.basis is None else flex.basis)
        for flex, need in zip(entries, natural, strict=True)
    ]
    while (left := length - sum(sizes)) != 0:
        step = 1 if left > 0 else -1
        weights = [_weight(flex, size, step) for flex, size in zip(entries, sizes, strict=True)]
        total = sum(weights)
        if not total:
            break
        before = list(sizes)
        for index, weight in enumerate(weights):
            part = abs(left) * weight // total
            sizes[index] = entries[index].clamped(sizes[index] + step * part)
        if sizes == before:  # less than one cell each: hand out single cells, the first ones first
            for index in [at for at, weight in enumerate(weights) if weight][: abs(left)]:
                sizes[index] += step
    return sizes


def _weight(flex: Flex, size: int, step: int) -> int:
    """How strongly an entry takes part in growing or shrinking; 0 at its limit."""
    if flex.clamped(size + step) != size + step:
        return 0
    return flex.grow if step > 0 else flex.shrink * size


Align: TypeAlias = Literal["stretch", "start", "center", "end"]

_SHARES: dict[Align, float] = {"stretch": 0.0, "start": 0.0, "center": 0.5, "end": 1.0}


@runtime_checkable
class Fitting(Protocol):
    """A component that can fill a given height, such as a scroll view."""

    def render_in(self, width: int, height: int) -> list[str]:
        """Exactly ``height`` rows."""
        ...


class _Stack:
    """What both directions have in common: entries and where they were drawn."""

    def __init__(self, *children: Component, gap: int = 0, align: Align = "stretch") -> None:
        self.gap = gap
        self.align: Align = align
        self.areas: list[Area] = []
        """Where the visible children were drawn last."""
        self._entries: list[tuple[Component, Flex | None]] = []
        for child in children:
            self.add_child(child)

    @property
    def children(self) -> tuple[Component, ...]:
        """The children in order."""
        return tuple(child for child, _ in self._entries)

    def add_child(self, child: Component, flex: Flex | None = None) -> None:
        """Put a child at the end.

        Unless told otherwise, a scroll view and a stack with one in it fill what is left.
        """
        self._entries.append((child, flex))

    def remove_child(self, child: Component) -> None:
        """Take a child out; nothing happens if it is not here."""
        self._entries = [entry for entry in self._entries if entry[0] is not child]

    def clear(self) -> None:
        """Take all children out."""
        self._entries.clear()

    def areas_at(self, row: int) -> list[Area]:
        """The children on a row, from left to right."""
        return [area for area in self.areas if area.row <= row < area.row + area.height]

    def invalidate(self) -> None:
        """Make every child forget what it remembers."""
        for child, _ in self._entries:
            child.invalidate()

    def _visible(self) -> list[tuple[Component, Flex]]:
        entries = [(child, flex or _usual(child)) for child, flex in self._entries]
        return [(child, flex) for child, flex in entries if flex.is_visible]


class VStack(_Stack):
    """Children from top to bottom; ``align`` places narrower ones across the width."""

    def render(self, width: int) -> list[str]:
        """As many rows as the children need."""
        return self._stacked(width, [(child, None) for child, _ in self._visible()])

    def render_in(self, width: int, height: int) -> list[str]:
        """Exactly ``height`` rows, shared among the children."""
        entries = self._visible()
        natural = [
            0 if flex.basis is not None else len(child.render(width)) for child, flex in entries
        ]
        room = max(0, height - self.gap * max(0, len(entries) - 1))
        sizes = share(room, [flex for _, flex in entries], natural)
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
    """Children from left to right; ``align`` places lower ones down the height."""

    def render(self, width: int) -> list[str]:
        """As many rows as the highest child needs."""
        return self._beside(width, None)

    def render_in(self, width: int, height: int) -> list[str]:
        """Exactly ``height`` rows, which every child may fill."""
        return self._beside(width, height)

    def _beside(self, width: int, height: int | None) -> list[str]:
        entries = self._visible()
        natural = [
            0 if flex.basis is not None else max(map(visible_width, child.render(width)), default=0)
            for child, flex in entries
        ]
        room = max(0, width - self.gap * max(0, len(entries) - 1))
        widths = share(room, [flex for _, flex in entries], natural)
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


def _usual(child: Component) -> Flex:
    return Flex(grow=1, basis=0) if _fills(child) else Flex()


def _fills(child: object) -> bool:
    """Whether a component can do with any height."""
    if isinstance(child, _Stack):
        return any(map(_fills, child.children))
    return isinstance(child, Fitting)


def _column(child: Component, width: int, height: int | None) -> list[str]:
    """The rows of a child that has others beside it."""
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
    """A line that neither reaches nor colours what stands beside it."""
    if visible_width(line) > width:
        return slice_columns(line, 0, width)
    state = StyleState()
    for sequence in SEQUENCE.findall(line):
        state.apply(sequence)
    return line + state.closing()


def _filled(rows: list[str], height: int) -> list[str]:
    return rows[:height] + [""] * (height - len(rows))

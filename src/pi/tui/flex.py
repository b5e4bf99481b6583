"""Shares a length among entries that want some of it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pi.base.records import Record


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

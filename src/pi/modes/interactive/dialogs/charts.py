"""Small charts made of characters. Pure."""

from __future__ import annotations

from collections.abc import Sequence

_STEPS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], width: int) -> str:
    """One column per value; where there are too many, each column is the most of its share."""
    if not values or width < 1:
        return ""
    columns = _gathered(values, min(width, len(values)))
    most = max(columns)
    if most <= 0:
        return _STEPS[0] * len(columns)
    return "".join(_STEPS[_step(value / most, len(_STEPS) - 1)] for value in columns)


def bar(fraction: float, width: int) -> str:
    """A bar of ``width`` columns of which so much is full; a little is never nothing."""
    full = _step(fraction, width)
    if fraction > 0:
        full = max(full, min(1, width))
    return "█" * full + "░" * (width - full)


def _step(fraction: float, most: int) -> int:
    return round(min(max(fraction, 0.0), 1.0) * most)


def _gathered(values: Sequence[float], columns: int) -> list[float]:
    edges = [len(values) * place // columns for place in range(columns + 1)]
    return [max(values[edges[at] : edges[at + 1]]) for at in range(columns)]

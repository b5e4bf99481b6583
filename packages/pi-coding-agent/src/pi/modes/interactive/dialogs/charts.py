"""Bars and courses of numbers as text."""

from __future__ import annotations

from collections.abc import Sequence

_STEPS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], width: int) -> str:
    """One column per value; if there are too many, each column shows the maximum of its range."""
    if not values or width < 1:
        return ""
    columns = _maxima(values, min(width, len(values)))
    most = max(columns)
    if most <= 0:
        return _STEPS[0] * len(columns)
    return "".join(_STEPS[_step(value / most, len(_STEPS) - 1)] for value in columns)


def bar(fraction: float, width: int) -> str:
    """A bar of ``width`` columns; a small share is never empty."""
    full = _step(fraction, width)
    if fraction > 0:
        full = max(full, min(1, width))
    return "█" * full + "░" * (width - full)


def _step(fraction: float, most: int) -> int:
    return round(min(max(fraction, 0.0), 1.0) * most)


def _maxima(values: Sequence[float], columns: int) -> list[float]:
    edges = [len(values) * index // columns for index in range(columns + 1)]
    return [max(values[edges[index] : edges[index + 1]]) for index in range(columns)]

"""The benchmark table, line by line. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from bench.results import Figure, Result
from bench.scenario import Target

_ROW = "{:<15} {:<22} {:>10} {:>10} {:>10} {:>7}  {:<16} {}"
_MARKS = {True: "✓", False: "✗", None: "·"}

HEADER = _ROW.format(
    "scenario", "figure", "median", "best", "floor", "ratio", "target", "met"
).rstrip()


def lines(result: Result) -> Iterator[str]:
    """One line per figure; the scenario's name stands in the first."""
    if result.skipped:
        yield f"{result.name:<15} skipped: {result.skipped}"
    if result.problem:
        yield f"{result.name:<15} could not be measured: {result.problem}"
    for number, figure in enumerate(result.figures):
        yield _line("" if number else result.name, figure)


def _line(name: str, figure: Figure) -> str:
    return _ROW.format(
        name,
        figure.name,
        *(f"{value:.1f} {figure.unit}" for value in (figure.median, figure.best, figure.floor)),
        "" if figure.ratio is None else f"{figure.ratio:.2f}×",
        describe(figure.target, figure.unit),
        _MARKS[figure.met],
    )


def describe(target: Target | None, unit: str) -> str:
    """A target in a few characters, e.g. ``≤ 2×, ≤ 30 ms``."""
    if target is None:
        return ""
    limits = []
    if target.times_floor is not None:
        limits.append(f"≤ {target.times_floor:g}×")
    if target.above_floor is not None:
        limits.append(f"≤ floor + {target.above_floor:g} {unit}")
    if target.at_most is not None:
        limits.append(f"≤ {target.at_most:g} {unit}")
    return ", ".join(limits)

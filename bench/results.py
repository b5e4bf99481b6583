"""The figures of a scenario, from its rounds. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from bench.scenario import Metric, Target
from pi.base.records import Record


class Figure(Record):
    """A measured metric. ``median``, ``best`` and ``floor`` are in ``unit``."""

    name: str
    unit: str
    median: float
    best: float
    floor: float
    """Median of the floor in the same rounds."""
    ratio: float | None
    """``median`` in floors; None when the floor is too small to be a measure."""
    target: Target | None
    met: bool | None
    """Whether the median keeps the target; None when there is none."""


class Result(Record):
    """The result of a scenario."""

    name: str
    rounds: int
    figures: tuple[Figure, ...] = ()
    problem: str = ""
    """Why there are no figures."""
    skipped: str = ""
    """Why the scenario was not measured."""


def figure(metric: Metric, measured: Sequence[float], floors: Sequence[float]) -> Figure:
    """The figure for these values, one per round."""
    median, floor = statistics.median(measured), statistics.median(floors)
    return Figure(
        name=metric.name,
        unit=metric.unit,
        median=median,
        best=min(measured),
        floor=floor,
        ratio=median / floor if floor > 0 else None,
        target=metric.target,
        met=_holds(metric.target, median, floor) if metric.target else None,
    )


def _holds(target: Target, value: float, floor: float) -> bool:
    limits = (
        target.at_most,
        None if target.times_floor is None else target.times_floor * floor,
        None if target.above_floor is None else target.above_floor + floor,
    )
    return all(limit is None or value <= limit for limit in limits)

from __future__ import annotations

import pytest

from bench.results import Figure, Result, figure
from bench.scenario import Metric, Target, cpu_ms
from bench.table import HEADER, describe, lines


def test_a_figure_compares_the_median_with_the_median_of_the_floor() -> None:
    target = Target(times_floor=2)
    metric = Metric(name="cpu", unit="ms", read=cpu_ms, target=target)

    assert figure(metric, [30.0, 10.0, 20.0], [10.0, 40.0, 5.0]) == Figure(
        name="cpu", unit="ms", median=20, best=10, floor=10, ratio=2, target=target, met=True
    )


@pytest.mark.parametrize(
    ("target", "met"),
    [
        (None, None),
        (Target(at_most=20), True),
        (Target(at_most=19), False),
        (Target(times_floor=1.9), False),
        (Target(above_floor=10), True),
        (Target(above_floor=9), False),
        (Target(at_most=20, times_floor=1.9), False),
    ],
)
def test_a_target_is_met_when_all_its_limits_hold(target: Target | None, met: bool | None) -> None:
    metric = Metric(name="cpu", unit="ms", read=cpu_ms, target=target)

    assert figure(metric, [20.0], [10.0]).met is met


def test_there_is_no_ratio_if_the_floor_is_not_positive() -> None:
    assert figure(Metric(name="cpu", unit="ms", read=cpu_ms), [20.0], [-0.1]).ratio is None


def test_the_table_names_a_scenario_once_and_marks_its_targets() -> None:
    cpu = Figure(
        name="cpu",
        unit="ms",
        median=15.25,
        best=14,
        floor=12.2,
        ratio=1.25,
        target=Target(at_most=30, times_floor=2),
        met=True,
    )
    memory = Figure(
        name="peak memory", unit="MB", median=9, best=9, floor=9, ratio=1, target=None, met=None
    )

    assert [HEADER, *lines(Result(name="version", rounds=1, figures=(cpu, memory)))] == [
        "scenario        figure                     median       best      floor   ratio"
        "  target           met",
        "version         cpu                       15.2 ms    14.0 ms    12.2 ms   1.25×"
        "  ≤ 2×, ≤ 30 ms    ✓",
        "                peak memory                9.0 MB     9.0 MB     9.0 MB   1.00×"
        "                   ·",
    ]


def test_a_scenario_that_could_not_be_measured_is_listed_with_its_problem() -> None:
    assert list(lines(Result(name="version", rounds=0, problem="it ended with 1"))) == [
        "version         could not be measured: it ended with 1"
    ]


def test_a_target_above_the_floor_is_described_as_an_offset() -> None:
    assert describe(Target(above_floor=15), "ms") == "≤ floor + 15 ms"

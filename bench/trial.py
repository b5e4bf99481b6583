"""Runs one scenario: command and floor in turn, so that both run under the same load."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec

from bench.measure import CannotMeasure, measure
from bench.mock_process import ROOT, MockProcess
from bench.results import Result, figure
from bench.scenario import Command, Metric, Observation, Scenario

SECONDS = 60.0
"""After this time a scenario does not begin another round."""


def run_scenario(
    scenario: Scenario,
    server: MockProcess,
    *,
    repeat: int,
    seconds: float = SECONDS,
    clock: Callable[[], float] = time.monotonic,
) -> Result:
    """Measure ``scenario`` in ``repeat`` rounds after one that does not count."""
    if scenario.needs and not is_installed(scenario.needs):
        reason = f"{scenario.needs} is not installed; not measured: {scenario.about}"
        return Result(name=scenario.name, rounds=0, skipped=reason)
    metrics = scenario.metrics
    measured: list[list[float]] = []
    floors: list[list[float]] = []
    limit = clock() + seconds
    try:
        for command in (scenario.measured, scenario.floor):
            _values(command, metrics, server)  # fills caches: bytecode, files, the mock's answers
        while len(floors) < repeat and (not floors or clock() < limit):
            measured.append(_values(scenario.measured, metrics, server))
            floors.append(_values(scenario.floor, metrics, server))
    except CannotMeasure as error:
        return Result(name=scenario.name, rounds=len(floors), problem=str(error))
    columns = zip(metrics, zip(*measured, strict=True), zip(*floors, strict=True), strict=True)
    figures = tuple(figure(metric, values, floor) for metric, values, floor in columns)
    return Result(name=scenario.name, rounds=len(floors), figures=figures)


def observe(words: Sequence[str], server: MockProcess) -> Observation:
    """Run a command once; raises ``CannotMeasure`` if it fails."""
    server.reset()
    run = measure([word.replace("{port}", str(server.port)) for word in words], cwd=ROOT)
    if run.exit_code:
        last = run.error_output.decode(errors="replace").strip().splitlines()[-1:]
        reason = "".join(f": {line}" for line in last)
        raise CannotMeasure(f"{' '.join(words)} ended with {run.exit_code}{reason}")
    return Observation(run=run, exchanges=tuple(server.log()))


def is_installed(package: str) -> bool:
    """Whether this environment has a package that is not among the dependencies.

    Ray may be in that of ``scripts/oracles``: the programs that need it start themselves there.
    """
    if package == "ray" and any(ROOT.glob(".oracles/python/lib/python*/site-packages/ray")):
        return True
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # not even the package around it
        return False


def _values(command: Command, metrics: Sequence[Metric], server: MockProcess) -> list[float]:
    """One value per metric from one run of the command."""
    seen = observe(command.words, server)
    values = [metric.read(seen) for metric in metrics]
    if command.without:
        less = observe(command.without, server)
        values = [value - metric.read(less) for value, metric in zip(values, metrics, strict=True)]
    return [value / metric.per for value, metric in zip(values, metrics, strict=True)]

from __future__ import annotations

import sys
from itertools import count

import pytest

from bench.mock_process import MockProcess
from bench.scenario import Command, Metric, Observation, Scenario, request_ms
from bench.trial import observe, run_scenario


def _scenario(measured: Command, floor: Command) -> Scenario:
    metric = Metric(name="output", unit="B", read=_output, per=2)
    return Scenario(name="s", about="", measured=measured, floor=floor, metrics=(metric,))


def _output(seen: Observation) -> float:
    return len(seen.run.output)


def _writes(letters: int) -> tuple[str, ...]:
    return ("printf", "x" * letters)


@pytest.mark.full
def test_a_scenario_compares_a_command_with_its_floor(server: MockProcess) -> None:
    scenario = _scenario(Command(words=_writes(12)), Command(words=_writes(4)))

    result = run_scenario(scenario, server, repeat=3)

    (figure,) = result.figures
    assert result.rounds == 3
    assert (figure.median, figure.best, figure.floor, figure.ratio) == (6, 6, 2, 3)


def test_the_baseline_cost_of_a_command_is_subtracted(server: MockProcess) -> None:
    measured = Command(words=_writes(12), without=_writes(2))

    result = run_scenario(_scenario(measured, Command(words=_writes(4))), server, repeat=1)

    assert result.figures[0].median == 5


@pytest.mark.full
def test_no_round_begins_after_the_time_is_up(server: MockProcess) -> None:
    scenario = _scenario(Command(words=_writes(2)), Command(words=_writes(2)))
    ticks = count()

    result = run_scenario(scenario, server, repeat=50, seconds=3, clock=lambda: next(ticks))

    assert result.rounds == 3


def test_a_failing_command_is_reported_as_a_problem(server: MockProcess) -> None:
    failing = Command(words=(sys.executable, "-c", "raise SystemExit('no model')"))

    result = run_scenario(_scenario(failing, Command(words=_writes(1))), server, repeat=1)

    assert result.figures == ()
    assert result.problem.endswith("ended with 1: no model")


def test_a_program_that_sends_no_request_is_reported_as_a_problem(server: MockProcess) -> None:
    metric = Metric(name="request", unit="ms", read=request_ms)
    silent = Command(words=_writes(1))
    scenario = Scenario(name="s", about="", measured=silent, floor=silent, metrics=(metric,))

    assert run_scenario(scenario, server, repeat=1).problem == "the program sent no request"


def test_the_requests_of_a_floor_program_are_logged_by_the_mock_server(server: MockProcess) -> None:
    words = (sys.executable, "bench/floors/deltas_stdlib.py", "{port}", "echo-3")

    seen = observe(words, server)

    assert seen.run.output == b"The quick brown"
    assert [exchange.status for exchange in seen.exchanges] == [200]
    assert 0 < request_ms(seen) < 10_000

from __future__ import annotations

import pytest

from bench.mock_process import ROOT, MockProcess
from bench.results import Result
from bench.scenario import Command, Metric, Scenario, cpu_ms
from bench.scenarios.providers import (
    BARE_WIRE,
    OURS,
    SCENARIOS,
    WIRES,
    Wire,
    first_delta_ms,
)
from bench.table import lines
from bench.trial import is_installed, observe, run_scenario
from tests.sampling import sampled

pytestmark = pytest.mark.full  # every scenario is a program with a server

every_wire = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_program_of_a_scenario_exists(scenario: Scenario) -> None:
    for command in (scenario.measured, scenario.floor):
        for words in (command.words, command.without):
            assert all((ROOT / word).is_file() for word in words if word.endswith(".py"))


@every_wire
@pytest.mark.parametrize("program", sampled([OURS, BARE_WIRE], keep=1))
def test_our_programs_read_every_answer(server: MockProcess, wire: Wire, program: str) -> None:
    seen = observe(wire.command(program, "echo-3", "echo-2"), server)

    lengths = [line.split()[0] for line in seen.run.output.decode().splitlines()]
    assert lengths == [str(len("The quick brown")), str(len("The quick"))]
    assert [exchange.status for exchange in seen.exchanges] == [200, 200]


@pytest.mark.parametrize("wire", sampled(WIRES, keep=1), ids=lambda wire: wire.name)
@pytest.mark.slow
@pytest.mark.timing  # a vendor library takes seconds to import on a busy machine
def test_pi_and_the_sdk_read_the_same_response_and_report_the_first_delta(
    server: MockProcess, wire: Wire
) -> None:
    if not is_installed(wire.package):
        pytest.skip(f"{wire.package} is not installed; not tested: that {wire.sdk} measures it")

    ours = observe(wire.command(OURS, "echo-3"), server)
    theirs = observe(wire.command(wire.sdk, "echo-3"), server)

    assert ours.run.output.split()[0] == theirs.run.output.split()[0] == b"15"
    for seen in (ours, theirs):
        assert 0 < first_delta_ms(seen) <= cpu_ms(seen)


def test_a_scenario_whose_package_is_missing_is_reported_as_skipped(server: MockProcess) -> None:
    command = Command(words=("false",))
    scenario = Scenario(
        name="chat",
        about="deltas",
        needs="no_such_vendor.sdk",
        measured=command,
        floor=command,
        metrics=(Metric(name="cpu", unit="ms", read=cpu_ms),),
    )

    result = run_scenario(scenario, server, repeat=1)

    reason = "no_such_vendor.sdk is not installed; not measured: deltas"
    assert result == Result(name="chat", rounds=0, skipped=reason)
    assert list(lines(result)) == [f"chat            skipped: {reason}"]

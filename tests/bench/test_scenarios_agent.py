from __future__ import annotations

import pytest

from bench.mock_process import MockProcess
from bench.scenario import printed
from bench.scenarios.agent import program
from bench.trial import observe
from tests.sampling import sampled


@pytest.mark.parametrize(
    ("name", "count"), sampled([("deltas", 102), ("bare_deltas", 104)], keep=1)
)
def test_every_delta_and_block_boundary_is_received(
    server: MockProcess, name: str, count: int
) -> None:
    assert printed(observe(program(name, 100), server)) == count


@pytest.mark.parametrize("name", sampled(["calls", "bare_calls"], keep=1))
def test_tool_calls_report_their_cpu_time(server: MockProcess, name: str) -> None:
    seen = observe(program(name, 20), server)

    assert 0 < printed(seen) <= seen.run.cpu * 1e3

from __future__ import annotations

import pytest

from bench.mock_process import MockProcess
from bench.scenario import printed
from bench.scenarios.sessions import program
from bench.trial import observe
from tests.sampling import sampled

pytestmark = pytest.mark.full  # every scenario is a program with a server


@pytest.mark.parametrize("name", sampled(["listing", "bare_listing"], keep=1))
@pytest.mark.parametrize("before", [0, 1])
def test_programs_report_the_cpu_time_of_listing(
    server: MockProcess, name: str, before: int
) -> None:
    seen = observe(program(name, 60, before), server)

    assert 0 < printed(seen) <= seen.run.cpu * 1e3

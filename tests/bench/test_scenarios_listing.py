from __future__ import annotations

import pytest

from bench.mock_process import MockProcess
from bench.scenarios.listing import SCENARIOS
from bench.scenarios.sessions import program, told_ms
from bench.trial import observe


def test_every_row_fits_the_table() -> None:
    assert [scenario.name for scenario in SCENARIOS if len(scenario.name) > 15] == []


@pytest.mark.parametrize("name", ["listing", "bare_listing"])
@pytest.mark.parametrize("before", [0, 1])
def test_programs_tell_what_listing_costs(server: MockProcess, name: str, before: int) -> None:
    seen = observe(program(name, 60, before), server)

    assert 0 < told_ms(seen) <= seen.run.cpu * 1e3

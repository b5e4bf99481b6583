from __future__ import annotations

import pytest

from bench.mock_process import MockProcess
from bench.scenarios.catalog import SCENARIOS
from bench.scenarios.interactive import SCENARIOS as SCREENS
from bench.scenarios.interactive import program
from bench.trial import observe


def test_every_row_is_in_the_catalog_and_fits_the_table() -> None:
    assert set(SCREENS) <= set(SCENARIOS)
    assert [scenario.name for scenario in SCREENS if len(scenario.name) > 15] == []


@pytest.mark.slow
@pytest.mark.parametrize("whom", ["{port}", "bare"])
def test_the_first_key_is_seen_after_the_first_frame(server: MockProcess, whom: str) -> None:
    told = observe(program("starting", whom).words, server).run.output.split()
    frame, key, cpu = map(float, told)

    assert 0 < frame < key
    assert cpu > 0


@pytest.mark.slow
def test_a_plain_answer_takes_a_byte_for_a_character(server: MockProcess) -> None:
    told = observe(program("answering", "plain", "500").words, server).run.output.split()
    cpu, kilobytes, size = map(float, told)

    assert cpu > 0
    assert kilobytes > 0
    assert 1 <= size < 1.1


@pytest.mark.slow
@pytest.mark.parametrize("whom", ["{port}", "bare"])
def test_every_key_has_its_echo(server: MockProcess, whom: str) -> None:
    assert float(observe(program("typing", whom).words, server).run.output) > 0

from __future__ import annotations

import sys

import pytest

from bench.mock_process import MockProcess
from bench.scenarios.catalog import SCENARIOS
from bench.scenarios.status_engine import SCENARIOS as STATUS
from bench.trial import observe


def test_every_row_is_in_the_catalog_and_fits_the_table() -> None:
    assert set(STATUS) <= set(SCENARIOS)
    assert [scenario.name for scenario in STATUS if len(scenario.name) > 15] == []


@pytest.mark.parametrize(
    "arguments", [("latency", "0"), ("accuracy", "0"), ("frame_cost", "on"), ("frame_cost", "off")]
)
def test_a_program_prints_its_figure(arguments: tuple[str, ...], server: MockProcess) -> None:
    name, *rest = arguments
    words = (sys.executable, "-m", f"bench.programs.status_engine.{name}", *rest)

    assert float(observe(words, server).run.output) >= 0

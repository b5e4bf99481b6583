from __future__ import annotations

import sys

import pytest

from bench.mock_process import MockProcess
from bench.trial import observe
from tests.sampling import sampled

pytestmark = pytest.mark.full  # every scenario is a program with a server


@pytest.mark.parametrize(
    "arguments",
    sampled(
        [["latency", "0"], ["accuracy", "0"], ["frame_cost", "on"], ["frame_cost", "off"]], keep=1
    ),
)
def test_a_program_prints_its_figure(arguments: list[str], server: MockProcess) -> None:
    name, *rest = arguments
    words = (sys.executable, "-m", f"bench.programs.status_engine.{name}", *rest)

    assert float(observe(words, server).run.output) >= 0

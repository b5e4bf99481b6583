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
        [
            ["starting", "2"],
            ["dispatching", "2", "sync"],
            ["bare_starting", "2"],
            ["dispatching", "2", "async"],
            ["bare_dispatching", "2", "sync"],
            ["reloading", "1"],
        ],
        keep=2,
    ),
)
def test_a_program_prints_its_figure(arguments: list[str], server: MockProcess) -> None:
    name, *rest = arguments
    words = (sys.executable, "-m", f"bench.programs.extensions.{name}", *rest)

    assert float(observe(words, server).run.output) > 0

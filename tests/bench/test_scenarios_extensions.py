from __future__ import annotations

import sys

import pytest

from bench.mock_process import MockProcess
from bench.trial import observe


@pytest.mark.parametrize(
    "arguments",
    [
        ("starting", "2"),
        ("bare_starting", "2"),
        ("dispatching", "2", "sync"),
        ("dispatching", "2", "async"),
        ("bare_dispatching", "2", "sync"),
        ("reloading", "1"),
    ],
)
def test_a_program_prints_its_figure(arguments: tuple[str, ...], server: MockProcess) -> None:
    name, *rest = arguments
    words = (sys.executable, "-m", f"bench.programs.extensions.{name}", *rest)

    assert float(observe(words, server).run.output) > 0

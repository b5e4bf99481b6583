from __future__ import annotations

import pytest

from bench.mock_process import MockProcess
from bench.scenario import printed
from bench.scenarios.sessions import program
from bench.trial import observe
from tests.sampling import sampled

pytestmark = pytest.mark.full  # every scenario is a program with a server


@pytest.mark.parametrize("name", sampled(["opening", "bare_opening"], keep=1))
def test_opening_reports_its_time_and_memory(server: MockProcess, name: str) -> None:
    seen = observe(program(name, 50), server)

    assert 0 < printed(seen) <= seen.run.cpu * 1e3
    assert 0 < printed(seen, 1) < 20


@pytest.mark.parametrize(
    "words",
    [
        program("appending", 0),
        pytest.param(program("bare_appending"), marks=pytest.mark.full),
        pytest.param(program("context", 50), marks=pytest.mark.full),
    ],
)
def test_the_other_session_programs_report_their_cpu_time(
    server: MockProcess, words: tuple[str, ...]
) -> None:
    seen = observe(words, server)

    assert 0 < printed(seen) <= seen.run.cpu * 1e3

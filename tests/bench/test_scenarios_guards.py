from __future__ import annotations

import sys

import pytest

from bench.mock_process import MockProcess
from bench.scenario import printed, python
from bench.trial import observe
from tests.sampling import sampled

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs a sandbox")


@pytest.mark.parametrize("kind", sampled(["read", "edit", "bash"], keep=1))
@pytest.mark.parametrize("guards", ["on", "off"])
def test_calls_with_and_without_guards_report_their_cpu_time(
    server: MockProcess, kind: str, guards: str
) -> None:
    seen = observe(python("guards.calls", guards, kind, 5), server)

    assert 0 < printed(seen) <= seen.run.cpu * 1e3

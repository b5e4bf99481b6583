from __future__ import annotations

import pytest

from pi.coding.extension_host import session_parts
from pi.coding.runtime import hosted_parts, hosted_runs

PAIRS = {
    session_parts.SessionPlace: hosted_parts.HostedPlace,
    session_parts.SessionTalk: hosted_parts.HostedTalk,
    session_parts.SessionRuns: hosted_runs.HostedRuns,
    session_parts.SessionModels: hosted_parts.HostedModels,
    session_parts.SessionTools: hosted_parts.HostedTools,
    session_parts.SessionFacts: hosted_parts.HostedFacts,
    session_parts.SessionEvents: hosted_runs.HostedEvents,
}


@pytest.mark.parametrize("part", PAIRS, ids=lambda part: part.__name__)
def test_a_part_of_a_session_that_runs_has_all_that_extensions_may_reach(part: type) -> None:
    wanted = {name for name in vars(part) if not name.startswith("_")}

    assert wanted <= set(dir(PAIRS[part]))  # type: ignore[index]
    assert len(wanted) <= 15

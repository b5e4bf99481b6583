from __future__ import annotations

from pi.coding.extension_host.control import (
    Cancelled,
    HostedSession,
    SessionActs,
    SessionControl,
    SessionView,
)
from pi.coding.runtime.hosted import Hosted


def test_a_session_that_runs_is_all_that_extensions_may_reach() -> None:
    wanted = {
        name
        for protocol in (SessionView, SessionActs, SessionControl)
        for name in vars(protocol)
        if not name.startswith("_")
    }

    assert wanted <= set(dir(Hosted))
    assert wanted <= set(dir(HostedSession))
    assert Cancelled(cancelled=True).cancelled

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.coding.extension_host.errors import ExtensionError, StaleSession
from pi.coding.extension_host.link import SessionLink
from pi.coding.extension_host.scope import Scope
from pi.testing import FakeClock


async def test_a_link_has_a_session_between_start_and_end() -> None:
    scope = Scope(FakeClock(), name="x", report=lambda what, problem: None)
    session: Any = object()
    sessions: list[Any] = []
    start = Path("/home/ada/project")
    link = SessionLink(scope, lambda: sessions[0] if sessions else None, start)

    with pytest.raises(ExtensionError, match="does not exist yet"):
        _ = link.session
    assert link.cwd == start
    sessions.append(session)
    assert link.session is session
    await scope.close()
    for stale in (lambda: link.session, lambda: link.cwd):
        with pytest.raises(StaleSession):
            stale()

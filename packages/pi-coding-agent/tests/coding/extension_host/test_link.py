from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi.coding.extension_host.errors import ExtensionError, StaleSession
from pi.coding.extension_host.scope import HostConnection, Scope, SessionLink
from pi.testing import FakeClock


async def test_a_link_raises_before_its_session_starts_and_after_it_ends() -> None:
    scope = Scope(FakeClock(), name="x", report=lambda what, error: None)
    session: Any = object()
    start = Path("/home/ada/project")
    connection = HostConnection(start, "print")
    link = SessionLink(scope, connection)

    with pytest.raises(ExtensionError, match="does not exist yet"):
        _ = link.session
    assert link.cwd == start
    connection.session = session
    assert link.session is session
    await scope.close()
    for stale in (lambda: link.session, lambda: link.cwd):
        with pytest.raises(StaleSession):
            stale()

"""A session that runs here is one that modes can talk to."""

from __future__ import annotations

from pathlib import Path

from pi.coding.runtime.port import SessionPort
from tests.coding.runtime.stage import Stage


async def test_an_agent_session_is_a_port(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    session = await stage.open()
    port: SessionPort = session
    assert port.facts.header.cwd == str(stage.cwd)
    await session.close()

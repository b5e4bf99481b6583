"""The service with which a shared session shows its agents."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import calls, says
from pi.base.errors import PiError
from tests.batteries.subagents.agent_session import Gate, Script, agent_session


async def test_the_agent_hub_service_lists_reads_and_cancels_agents(tmp_path: Path) -> None:
    gate = Gate()
    apis: list[Any] = []
    changes: list[str] = []
    script = Script(main=[calls("task", task="Look.", name="a", background=True), says("started")])
    async with agent_session(tmp_path, script, gate.extension, apis.append) as (hosted, agents):
        hub = apis[0].service("agent_hub")
        unsubscribe = hub.on_change(lambda: changes.append("changed"))
        run = asyncio.ensure_future(hosted.session.prompt("go"))
        await gate.until(1)
        (row,) = hub.agents()
        assert (row["id"], row["status"]) == ("a", "running")
        text, following = await hub.transcript("a", 0, limit=10)
        assert (len(text), following) == (10, 10)
        await hub.command("a", "kill")
        assert agents.tree.get("a").state == "cancelled"  # type: ignore[union-attr]
        await run
        assert changes
        unsubscribe()
        with pytest.raises(PiError, match="does not exist"):
            await hub.command("b", "kill")

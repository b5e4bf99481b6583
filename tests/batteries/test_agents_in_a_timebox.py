"""The budget of a timebox includes sub-agents."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.models.model import ModelCost
from pi.ai.providers.faux import FAUX_MODEL, calls, says
from pi.base.records import replace
from pi.batteries.timebox.adapters.pi import extension as timebox
from tests.batteries.subagents.agent_session import (
    Script,
    agent_session,
)


async def test_a_cost_budget_includes_and_stops_agents(tmp_path: Path) -> None:
    script = Script(
        main=[calls("task", task="x", name="a"), says("ok")],
        a=[calls("bash", command="true") for _ in range(50)],
    )
    async with agent_session(tmp_path, script, timebox) as (hosted, agents):
        await hosted.session.set_model(replace(FAUX_MODEL, cost=ModelCost(input=1000)))
        await hosted.session.prompt("/timebox cost:$0.05")
        await hosted.session.prompt("go")

        assert agents.tree.all()[0].state == "failed"
        assert len(script.requests["a"]) < 8
        assert hosted.session.info.stats().cost == pytest.approx(
            0.01 * sum(len(each) for each in script.requests.values())
        )

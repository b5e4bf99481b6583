"""Steering messages that precede pending tool calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.agent.events import MessageEnd
from pi.ai.messages import AssistantMessage, ToolResultMessage
from pi.testing import Reply, call, says
from tests.coding.runtime.session_fixture import SessionFixture

TWO = Reply(
    blocks=(call("bash", id="a", command="echo one"), call("bash", id="b", command="echo two"))
)


@pytest.mark.parametrize(("mode", "skipped"), [("immediate", True), ("wait", False)])
async def test_pending_calls_are_skipped_in_immediate_mode(
    tmp_path: Path, mode: str, skipped: bool
) -> None:
    fixture = SessionFixture(tmp_path, TWO, says("heard you"))
    fixture.write(".pi/agent/settings.json", f'{{"interruptMode": "{mode}"}}')
    session = await fixture.open()

    async def steer(event: object) -> None:
        match event:
            case MessageEnd(message=AssistantMessage() as answer) if answer.tool_calls:
                await session.prompts.steer("stop that")

    session.subscribe(steer)
    await session.prompts.prompt("go")
    results = [m for m in session.info.messages() if isinstance(m, ToolResultMessage)]
    await session.close()

    assert [("Skipped" in result.text) for result in results] == [skipped, skipped]

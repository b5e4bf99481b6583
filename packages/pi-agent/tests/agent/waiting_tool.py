"""A tool that waits to be aborted."""

from __future__ import annotations

import asyncio
from typing import Any

from pi.agent.tools.define import make_tool
from pi.agent.tools.tool import ToolContext, ToolFailed, ToolResult
from pi.ai.messages import Json
from pi.ai.testing import Reply, call
from tests.agent.agents import AgentFixture, tasks_left


class WaitingTool:
    """A tool that waits until it is cancelled, and reports that in its own way."""

    def __init__(self, how: str = "at once", **options: Any) -> None:
        self.begun = asyncio.Event()
        self.contexts: list[ToolContext] = []
        self.how = how
        self.released = asyncio.Event()
        self.tool = make_tool(
            name="sleep",
            description="Wait.",
            params={"type": "object"},
            run=self.run,
            **options,
        )

    async def run(self, arguments: Json, ctx: ToolContext) -> str:
        self.contexts.append(ctx)
        self.begun.set()
        while not self.released.is_set():
            try:
                await self.released.wait()
            except asyncio.CancelledError:
                if self.how == "politely":
                    raise ToolFailed("a\n\nCommand aborted") from None
                if self.how == "at once":
                    raise
        ctx.update(ToolResult.of("too late"))
        return "done"


def sleeps(*names: str) -> Reply:
    """An answer that calls it, with these ids."""
    return Reply(blocks=tuple(call("sleep", id=name) for name in names))


LAST_TURN = [
    "turn_end",
    "turn_start",
    "message_start assistant:error",
    "message_end assistant:error",
    "turn_end",
    "agent_end",
    "agent_settled",
]
"""The last events of an aborted run."""


async def abort_when(begun: asyncio.Event, fixture: AgentFixture) -> None:
    """Run, abort as soon as ``begun`` is set, and check that no task is left."""
    running = asyncio.create_task(fixture.agent.prompt("go"))
    await begun.wait()
    fixture.agent.abort()
    await running
    assert await tasks_left() == set()

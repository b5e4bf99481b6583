"""MCP: tools change while a session runs; progress, a log, and credentials."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from pi.ai.messages import SystemMessage, ToolResultMessage
from pi.ai.providers.faux import calls, says
from pi.extension import (
    AgentTool,
    ExtensionAPI,
    Registration,
    Text,
    ToolContext,
    ToolResult,
    make_tool,
)
from tests.coding.extension_host.extension_session import extension_session

SCHEMA = {"type": "object", "properties": {}}


class Server:
    """A server whose list of tools changes."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._tools: dict[str, Registration] = {}

    def list_changed(self, **tools: str) -> None:
        """Register exactly these tools, by name and description."""
        for registration in self._tools.values():
            registration.remove()
        self._tools = {
            name: self._pi.add_tool(self._tool(name, reported)) for name, reported in tools.items()
        }

    def _tool(self, name: str, description: str) -> AgentTool:
        async def run(params: Any, ctx: ToolContext) -> ToolResult:
            ctx.update(ToolResult.of("50 %"))
            self._pi.log.info("calling %s", name)
            self.list_changed(late="came in the middle")
            return ToolResult.of(f"{name} with {await self._pi.auth.get('mcp:demo')}")

        return make_tool(name=name, description=description, params=SCHEMA, run=run)


async def test_tools_can_be_added_changed_and_removed_between_requests(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def mcp(pi: ExtensionAPI) -> None:
        server = Server(pi)
        server.list_changed(first="v1", second="v1")

        @pi.on("session_start")
        async def connect(event: Any, ctx: Any) -> None:
            await pi.auth.set("mcp:demo", "token")

        @pi.command("changed")
        def changed(args: str, ctx: Any) -> None:
            server.list_changed(first="v2")

    steps = (says("hi"), calls("first"), says("done"))
    with caplog.at_level(logging.INFO, "pi.extensions"):
        async with extension_session(tmp_path, mcp, steps=steps) as hosted:
            await hosted.session.prompt("hello")
            await hosted.session.prompt("/changed")
            await hosted.session.prompt("use it")

            messages = [m for m in hosted.session.messages if isinstance(m, SystemMessage)]
            changes = [_changes(message) for message in messages[1:]]
            (result,) = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
            assert {"first", "second"} <= set(_changes(messages[0])[0])
            assert changes == [(["first"], ["second"]), (["late"], ["first"])]
            assert result.content == (Text(text="first with token"),)
            assert len(hosted.emitted("ToolExecutionUpdate")) == 1
            assert hosted.failures == []
    assert "calling first" in caplog.text


def _changes(message: SystemMessage) -> tuple[list[str], list[str]]:
    added = [tool.name for tool in message.tools_added or ()]
    removed = [tool["name"] for tool in message.tools_removed or ()]
    return added, sorted(removed)

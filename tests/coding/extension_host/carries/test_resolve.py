"""Resolve: a hidden tool, and the model must use it in the next request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pi.ai.messages import SystemMessage
from pi.ai.providers.faux import calls, says
from pi.base.records import replace
from pi.extension import ExtensionAPI, Policy, Request, make_tool
from tests.coding.extension_host.stage import playing


class Pending(Policy):
    """Forces ``resolve`` while an action is pending."""

    def __init__(self) -> None:
        self.actions: list[str] = []

    async def before_request(self, request: Request) -> Request:
        return replace(request, tool_choice="resolve") if self.actions else request


def resolving(pi: ExtensionAPI) -> None:
    """``push_pending_action`` for other extensions; ``resolve`` for the model."""
    pending = Pending()
    pi.add_policy(pending)
    pi.provide("push_pending_action", pending.actions.append)

    async def resolve(params: dict[str, Any], ctx: Any) -> str:
        return f"{params['decision']}: {pending.actions.pop()}"

    schema = {"type": "object", "properties": {"decision": {"type": "string"}}}
    tool = make_tool(name="resolve", description="Decide.", params=schema, run=resolve)
    pi.register_tool(tool, exposure="hidden")

    @pi.on("session_start")
    def declare(event: Any, ctx: Any) -> None:
        pi.set_active_tools([*pi.get_active_tools(), "resolve"])


def proposing(pi: ExtensionAPI) -> None:
    """An action that needs a decision."""

    @pi.tool
    async def propose(change: str) -> str:
        """Propose a change."""
        pi.service("push_pending_action")(change)
        return "Now decide."


async def test_the_model_is_made_to_decide_and_then_free_again(tmp_path: Path) -> None:
    steps = (calls("propose", change="x"), calls("resolve", decision="apply"), says("done"))
    async with playing(tmp_path, resolving, proposing, steps=steps) as play:
        await play.session.prompt("go")

        asked = [request.options.tool_choice for request in play.stage.provider.requests]
        assert asked == [None, "resolve", None]
        assert "resolve" not in [tool.name for tool in play.session.tools.listed()]
        said = play.stage.provider.requests[-1].messages
        instructions = [m for m in said if isinstance(m, SystemMessage)]
        assert len(instructions) == 1  # it was declared from the start: the cache holds
        assert play.failures == []

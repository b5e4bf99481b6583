"""Tool calls that extensions make: validated, guarded and wrapped like calls of the model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar
from secrets import token_hex

from pi.agent.agent import Agent
from pi.agent.events import AgentEvent, ToolExecutionUpdate
from pi.agent.policy import Policy, StopRun
from pi.agent.tool_calls import ToolBatch
from pi.agent.tools.tool import AgentTool, ToolFailed, ToolResult, Update
from pi.ai.messages import AssistantMessage, Json, ToolCall
from pi.base.fuzzy import nearest

MAX_DEPTH = 8
"""Calls inside calls: a handler of ``tool_call`` that calls a tool is called for it again."""

_depth: ContextVar[int] = ContextVar("pi_extension_call_depth", default=0)


def unknown_tool(name: str, known: Sequence[str]) -> ToolFailed:
    """The error for a name that no tool has, with the nearest one."""
    like = nearest(name, known)
    return ToolFailed(f"Tool {name} not found." + (f" Did you mean {like}?" if like else ""))


async def call_tool(
    agent: Agent,
    tool: AgentTool,
    arguments: Json,
    *,
    policies: Sequence[Policy],
    caller: str,
    update: Update | None,
) -> ToolResult:
    """Run one call to its end. ``update`` gets intermediate results.

    The call is not part of the conversation, so it has no public events. Raises ``StopRun`` if a
    policy ends the run.
    """
    depth = _depth.get()
    if depth >= MAX_DEPTH:
        raise ToolFailed(
            f"{caller} called {tool.name} inside {MAX_DEPTH} other calls of extensions."
            " A handler of tool_call probably calls a tool for its own calls."
        )
    call = ToolCall(id=f"extension:{caller}:{token_hex(6)}", name=tool.name, arguments=arguments)

    async def emit(event: AgentEvent) -> None:
        if update is not None and isinstance(event, ToolExecutionUpdate):
            shown = event.partial_result
            update(ToolResult(content=shown.content, details=shown.details))

    batch = ToolBatch(
        _answer(agent, call),
        tools={tool.name: tool},
        policies=policies,
        emit=emit,
        clock=agent.clock,
        model=agent.model,
        abort=agent.abort,
    )
    token = _depth.set(depth + 1)
    try:
        await _to_the_end(batch)
    finally:
        _depth.reset(token)
    if batch.next.action == "stop":
        raise StopRun(batch.next.reason, exit_code=batch.next.exit_code)
    return batch.result(call)


def _answer(agent: Agent, call: ToolCall) -> AssistantMessage:
    model = agent.model
    return AssistantMessage(
        content=(call,),
        api=model.api,
        provider=model.provider,
        model=model.id,
        stop_reason="toolUse",
        timestamp=agent.clock.now_ms(),
    )


async def _to_the_end(batch: ToolBatch) -> None:
    """Run a batch; cancelling ends its tool first, within the grace period of aborts."""
    work = asyncio.ensure_future(batch.run())
    try:
        await asyncio.shield(work)
    except asyncio.CancelledError:
        batch.cancel()
        await asyncio.wait({work})
        raise

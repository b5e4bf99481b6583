"""The tool ``hub``: the model looks at its agents, writes to them, waits for them, ends them."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from pi.batteries.subagents.nodes import AgentNode
from pi.batteries.subagents.work import AgentWork
from pi.extension import AgentTool, Meta, Record, ToolContext, ToolFailed, ToolResult, make_tool

MAX_WAIT_SECONDS = 3600.0
DESCRIPTION = """\
Manage the agents that you have started with task.
- list: all agents and their states, also those of earlier runs of this session
- send: write `message` to an agent; one that works gets it after its current step, one that has
ended goes on with it in the background
- wait: wait until agents have ended, at most `timeout` seconds, and get their results; all
background agents without `agent`
- cancel: end an agent and all agents below it
You are notified when a background agent ends, so do not poll."""


class HubParams(Record):
    """Arguments of a call of ``hub``."""

    action: Literal["list", "send", "wait", "cancel"]
    agent: Annotated[str, Meta(description="Its id; several for wait, with commas")] = ""
    message: Annotated[str, Meta(description="For send")] = ""
    timeout: Annotated[
        float, Meta(gt=0, le=MAX_WAIT_SECONDS, description="Seconds to wait; 300 if left out")
    ] = 300.0


class Hub:
    """The actions of the tool."""

    def __init__(self, work: AgentWork) -> None:
        self._work = work

    def tool(self) -> AgentTool:
        """The tool."""
        return make_tool(
            name="hub",
            label="hub",
            description=DESCRIPTION,
            params=HubParams,
            run=self._use,
            approval="read",
        )

    async def _use(self, params: HubParams, ctx: ToolContext) -> ToolResult:
        match params.action:
            case "list":
                return self._list()
            case "send":
                return await self._send(params)
            case "wait":
                return await self._wait(params)
            case "cancel":
                return await self._cancel(params)

    def _list(self) -> ToolResult:
        nodes = self._work.tree.all()
        rows = [f"{'  ' * _indent(node)}{self._line(node)}" for node in nodes]
        return _result("\n".join(rows) or "There are no agents.", self._work.tree.roots)

    def _line(self, node: AgentNode) -> str:
        state = f"{node.state}, {node.activity}" if node.activity else node.state
        if self._work.can_continue(node):
            state += ", parked"
        line = f"{node.id} [{state}] {node.agent}: {node.title}"
        kept = node.branch or node.path
        return f"{line} (unmerged work: {kept})" if kept else line

    async def _send(self, params: HubParams) -> ToolResult:
        node = self._find(params.agent)
        if not params.message.strip():
            raise ToolFailed("Set message.")
        woken = await self._work.send(node, params.message)
        text = f"{node.id} goes on in the background." if woken else f"Sent to {node.id}."
        return _result(text, [node])

    async def _wait(self, params: HubParams) -> ToolResult:
        if params.agent.strip():
            nodes = [self._find(id) for id in params.agent.split(",")]
        else:
            nodes = [node for node in self._work.tree.roots if node.is_active]
        if not nodes:
            return _result("No agent is working.", [])
        waiting = [asyncio.ensure_future(node.wait()) for node in nodes]
        for node in nodes:
            node.awaited += 1
        try:
            await asyncio.wait(waiting, timeout=params.timeout)
        finally:
            for node, task in zip(nodes, waiting, strict=True):
                node.awaited -= 1
                task.cancel()
        parts = []
        for node in nodes:
            if node.is_active:
                parts.append(f"## {node.id} ({node.agent}): still {node.state}")
            else:
                node.is_reported = True
                parts.append(self._work.report(node))
        return _result("\n\n".join(parts), nodes)

    async def _cancel(self, params: HubParams) -> ToolResult:
        node = self._find(params.agent)
        node.awaited += 1  # the caller gets the result here, not as a report
        try:
            if not await self._work.cancel([node]):
                return _result(f"{node.id} had ended already ({node.state}).", [node])
            node.is_reported = True
        finally:
            node.awaited -= 1
        return _result(self._work.report(node), [node])

    def _find(self, id: str) -> AgentNode:
        node = self._work.tree.get(id.strip())
        if node is None:
            known = ", ".join(each.id for each in self._work.tree.all()) or "none"
            raise ToolFailed(f"Unknown agent {id.strip()!r}. Agents: {known}.")
        return node


def _indent(node: AgentNode) -> int:
    return 0 if node.parent is None else 1 + _indent(node.parent)


def _result(text: str, nodes: list[AgentNode]) -> ToolResult:
    return ToolResult.of(text, details={"agents": [node.row() for node in nodes]})

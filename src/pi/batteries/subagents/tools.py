"""The tools ``task`` and ``hub``: the model starts agents, waits for them, and manages them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Literal

from pi.batteries.subagents.definitions import AgentDefinition
from pi.batteries.subagents.launching import TASK
from pi.batteries.subagents.nodes import AgentNode
from pi.batteries.subagents.requests import task_description, task_items, task_schema
from pi.batteries.subagents.work import AgentWork
from pi.extension import (
    AgentTool,
    ExtensionAPI,
    Json,
    Meta,
    Record,
    ToolContext,
    ToolFailed,
    ToolResult,
    make_tool,
    replace,
)

UPDATE_SECONDS = 0.1
"""Between two updates of what a call of ``task`` shows."""
MAX_WAIT_SECONDS = 3600.0
HUB_DESCRIPTION = """\
Manage the agents that you have started with task.
- list: all agents and their states, also those of earlier runs of this session
- send: write `message` to an agent; one that works gets it after its current step, one that has
ended goes on with it in the background
- wait: wait until agents have ended, at most `timeout` seconds, and get their results; all
background agents without `agent`
- cancel: end an agent and all agents below it
You are notified when a background agent ends, so do not poll."""


class TaskCalls:
    """Calls of ``task`` by the model of the session, and by its agents."""

    def __init__(
        self, pi: ExtensionAPI, work: AgentWork, on_unmerged: Callable[[AgentNode], None]
    ) -> None:
        self._pi = pi
        self._work = work
        self.on_unmerged = on_unmerged
        """Called for an agent with unmerged work whose caller is gone."""

    def tool(self, node: AgentNode | None, caller: AgentDefinition | None) -> AgentTool:
        """The tool ``task`` for the session of the user, or for one of its agents."""
        agents = self._work.catalog.usable(caller)
        get = self._pi.settings.get
        isolation = get("task.isolation.enabled") is True
        schema = task_schema(
            [*agents],
            batch=get("task.batch") is True,
            isolation=isolation,
            background=node is None,
        )

        async def run(params: Json, ctx: ToolContext) -> ToolResult:
            return await self._call(params, ctx, node, agents)

        return make_tool(
            name=TASK,
            label=TASK,
            description=task_description([*agents.values()], isolation=isolation),
            params=schema,
            run=run,
            # Its agents ask for themselves; only a merge changes files by itself.
            approval=lambda params: "write" if _is_isolated(params, agents) else "read",
        )

    async def _call(
        self,
        params: Json,
        ctx: ToolContext,
        caller: AgentNode | None,
        agents: dict[str, AgentDefinition],
    ) -> ToolResult:
        items = task_items(params, agents)
        if self._pi.settings.get("task.isolation.enabled") is not True:
            items = tuple(replace(item, isolated=False) for item in items)
        nodes = self._work.start(items, caller)
        waited = [node for node in nodes if not node.background]
        end = self._work.tree.on_change(_shown_by(ctx, nodes))
        try:
            await self._wait_all(waited, caller)
        except asyncio.CancelledError:
            await self._work.cancel(waited)
            self._report_unmerged(waited)
            raise
        finally:
            end()
        for node in waited:
            node.is_reported = True
        parts = [self._work.report(node) if node in waited else _started(node) for node in nodes]
        failed = bool(waited) and all(node.state != "completed" for node in waited)
        return ToolResult.of(
            "\n\n".join(parts),
            details={"agents": [node.row() for node in nodes]},
            is_error=failed and len(waited) == len(nodes),
        )

    async def _wait_all(self, nodes: Sequence[AgentNode], caller: AgentNode | None) -> None:
        if not nodes:
            return
        if caller is None:
            for node in nodes:
                await node.wait()
            return
        async with self._work.tree.slots.lent():
            for node in nodes:
                await node.wait()

    def _report_unmerged(self, nodes: Iterable[AgentNode]) -> None:
        """An aborted call has no result: what it leaves is reported in another way."""
        for node in nodes:
            for each in node.walk():
                if each.branch or each.path:
                    self.on_unmerged(each)


def _is_isolated(params: Json, agents: dict[str, AgentDefinition]) -> bool:
    try:
        return any(item.isolated for item in task_items(params, agents))
    except ToolFailed:
        return False


def _started(node: AgentNode) -> str:
    return (
        f"## {node.id} ({node.agent}): started in the background\n\n"
        "You will be notified when it ends."
    )


def _shown_by(ctx: ToolContext, nodes: Sequence[AgentNode]) -> Callable[[], None]:
    """A listener that shows the agents under the call, a few times a second."""
    loop = asyncio.get_running_loop()
    waiting: list[asyncio.TimerHandle] = []

    def show() -> None:
        waiting.clear()
        rows = [node.row() for node in nodes]
        lines = [f"{row['id']}: {row['state']} {row['activity']}".rstrip() for row in rows]
        ctx.update(ToolResult.of("\n".join(lines), details={"agents": rows}))

    def changed() -> None:
        if not waiting:
            waiting.append(loop.call_later(UPDATE_SECONDS, show))

    changed()
    return changed


class HubParams(Record):
    """Arguments of a call of ``hub``."""

    action: Literal["list", "send", "wait", "cancel"]
    agent: Annotated[str, Meta(description="Its id; several for wait, with commas")] = ""
    message: Annotated[str, Meta(description="For send")] = ""
    timeout: Annotated[
        float, Meta(gt=0, le=MAX_WAIT_SECONDS, description="Seconds to wait; 300 if left out")
    ] = 300.0


class Hub:
    """The actions of the tool ``hub``."""

    def __init__(self, work: AgentWork) -> None:
        self._work = work

    def tool(self) -> AgentTool:
        """The tool."""
        return make_tool(
            name="hub",
            label="hub",
            description=HUB_DESCRIPTION,
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
        result = _result("\n\n".join(parts), nodes)
        return replace(result, useless=all(node.is_active for node in nodes))

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

"""The tool ``task``: starts the agents of a call, shows them, and waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from pi.batteries.subagents.definitions import AgentDefinition
from pi.batteries.subagents.launching import TASK
from pi.batteries.subagents.nodes import AgentNode
from pi.batteries.subagents.requests import task_description, task_items, task_schema
from pi.batteries.subagents.work import AgentWork
from pi.extension import (
    AgentTool,
    ExtensionAPI,
    Json,
    ToolContext,
    ToolFailed,
    ToolResult,
    make_tool,
    replace,
)

UPDATE_SECONDS = 0.1


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

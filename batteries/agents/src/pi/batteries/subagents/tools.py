"""The tools ``task`` and ``hub``, and the commands ``/agents`` and ``/open``.

With the tools the model starts and manages agents, with the commands the user watches agents and
reads their results.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pi.batteries.subagents.definitions import AgentDefinition
from pi.batteries.subagents.histories import Histories
from pi.batteries.subagents.launching import TASK
from pi.batteries.subagents.nodes import SIGNS, AgentNode
from pi.batteries.subagents.requests import task_description, task_items, task_schema
from pi.batteries.subagents.shared import SERVICE as SHARED
from pi.batteries.subagents.shared import SharedAgents
from pi.batteries.subagents.work import AgentWork
from pi.extension import (
    AgentTool,
    CommandContext,
    ExtensionAPI,
    Json,
    Meta,
    PiError,
    Record,
    Text,
    Theme,
    ToolContext,
    ToolFailed,
    ToolResult,
    make_tool,
    replace,
)

if TYPE_CHECKING:
    from pi.batteries.subagents.views import AgentsScreen, TextScreen


UPDATE_SECONDS = 0.1
"""Interval between two updates of a call of ``task``."""
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
        """Called for an agent with unmerged work whose call was aborted."""

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
            # Calls of the agents have their own approval; only a merge writes files itself.
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
        async with self._work.tree.slots.released():
            for node in nodes:
                await node.wait()

    def _report_unmerged(self, nodes: Iterable[AgentNode]) -> None:
        """Report unmerged work of an aborted call, which has no result that could mention it."""
        for node in nodes:
            for member in node.walk():
                if member.branch or member.path:
                    self.on_unmerged(member)


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
    """A listener that updates the agents below the call, at most every ``UPDATE_SECONDS``."""
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
        """The tool ``hub``."""
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
        unmerged = node.branch or node.path
        return f"{line} (unmerged work: {unmerged})" if unmerged else line

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
            ids = ", ".join(node.id for node in self._work.tree.all()) or "none"
            raise ToolFailed(f"Unknown agent {id.strip()!r}. Agents: {ids}.")
        return node


def _indent(node: AgentNode) -> int:
    return 0 if node.parent is None else 1 + _indent(node.parent)


def _result(text: str, nodes: list[AgentNode]) -> ToolResult:
    return ToolResult.of(text, details={"agents": [node.row() for node in nodes]})


REFRESH_SECONDS = 0.5
USAGE = "Use /agents, /agents show ID, /agents send ID TEXT or /agents cancel [ID]."
PAGE_LINES = 2000
MAX_LINES = 20_000
"""Maximum of lines that ``/open`` shows."""


class AgentCommands:
    """The commands of one session."""

    def __init__(self, pi: ExtensionAPI, work: AgentWork, histories: Histories) -> None:
        self._pi = pi
        self._work = work
        self._histories = histories

    async def agents(self, arguments: str, ctx: CommandContext) -> None:
        """Run ``/agents``: open the screen, or perform one action. Raises ``PiError``."""
        if (service := self._pi.service(SHARED)) is not None:
            shared = SharedAgents(service, self._pi.scope)
            await self._shared_agents(shared, arguments, ctx)
            return
        action, _, rest = arguments.strip().partition(" ")
        match action:
            case "" if ctx.mode == "tui":
                await self._screen(self._work, self._histories, ctx)
            case "" | "list":
                ctx.write(self.overview() + "\n")
            case "show":
                await self._read(f"history://{rest.strip()}", ctx)
            case "send":
                id, _, text = rest.strip().partition(" ")
                await self._send(id, text, ctx)
            case "cancel":
                id = rest.strip()
                nodes = [self._find(id)] if id else self._work.tree.active()
                count = await self._work.cancel(nodes)
                ctx.ui.notify("Cancelled." if count else "Nothing to cancel: it had ended.")
            case _:
                raise PiError(f"Unknown action {action}.", hint=USAGE)

    async def _shared_agents(
        self, shared: SharedAgents, arguments: str, ctx: CommandContext
    ) -> None:
        """Run ``/agents`` of a guest: the agents work at the host of the shared session."""
        action, _, rest = arguments.strip().partition(" ")
        id, _, text = rest.strip().partition(" ")
        agents = {agent.id: agent for agent in shared.all()}
        if id and id not in agents:
            names = ", ".join(agents) or "none"
            raise PiError(f"Unknown agent {id}.", hint=f"Agents of the host: {names}.")
        match action:
            case "" if ctx.mode == "tui":
                await self._screen(shared, shared, ctx)
            case "" | "list":
                rows = [f"{agent.id} ({agent.state}): {agent.title}" for agent in agents.values()]
                ctx.write("\n".join(rows or ["No agent has been started."]) + "\n")
            case "show" if id:
                await self._show_text(id, await shared.whole_text(id), ctx)
            case "send" if text:
                await shared.send(agents[id], text)
                ctx.ui.notify(f"Sent to {id}.")
            case "cancel":
                await shared.cancel([agents[id]] if id else shared.active())
                ctx.ui.notify("Cancelled.")
            case _:
                raise PiError(f"Unknown action {action}.", hint=USAGE)

    async def open(self, arguments: str, ctx: CommandContext) -> None:
        """Run ``/open REFERENCE``: show what the tool ``read`` returns. Raises ``PiError``."""
        reference = arguments.strip()
        if not reference:
            raise PiError("Nothing to open.", hint="Use /open agent://ID, or another reference.")
        await self._read(reference, ctx)

    def overview(self) -> str:
        """The started agents and the available definitions, as text."""
        rows = [_row(node) for node in self._work.tree.all()] or ["No agent has been started."]
        offered = self._work.catalog.usable().values()
        definitions = [
            f"{definition.name} ({definition.source}): {definition.description}"
            for definition in offered
        ]
        return "\n".join(["Agents", *rows, "", "Definitions", *definitions])

    async def _send(self, id: str, text: str, ctx: CommandContext) -> None:
        if not text.strip():
            raise PiError("There is nothing to send.", hint=USAGE)
        node = self._find(id)
        try:
            woken = await self._work.send(node, text)
        except ToolFailed as error:
            raise PiError(error.message) from error
        ctx.ui.notify(f"{node.id} goes on." if woken else f"Sent to {node.id}.")

    def _find(self, id: str) -> AgentNode:
        node = self._work.tree.get(id)
        if node is None:
            ids = [node.id for node in self._work.tree.all()]
            near = get_close_matches(id, ids, 1)
            hint = f"Did you mean {near[0]}?" if near else f"Agents: {', '.join(ids) or 'none'}."
            raise PiError(f"Unknown agent {id}.", hint=hint)
        return node

    async def _read(self, reference: str, ctx: CommandContext) -> None:
        await self._show_text(reference, await self._text(reference), ctx)

    async def _show_text(self, title: str, text: str, ctx: CommandContext) -> None:
        if ctx.mode != "tui":
            ctx.write(text.rstrip("\n") + "\n")
            return

        def make(tui: Any, theme: Theme, keys: Any, done: Any) -> TextScreen:
            from pi.batteries.subagents.views import TextScreen  # deferred: only drawn here

            return TextScreen(title, _as_markdown(text), tui, theme, done)

        await self._show(make, ctx)

    async def _text(self, reference: str) -> str:
        """The whole text of a reference, read in pages with the tool ``read``, with its guards."""
        parts: list[str] = []
        offset = 1
        while offset < MAX_LINES:
            arguments = {"path": reference}
            if offset > 1:
                arguments |= {"offset": offset, "limit": PAGE_LINES}  # type: ignore[dict-item]
            result = await self._pi.call_tool("read", arguments)
            text = "".join(part.text for part in result.content if isinstance(part, Text))
            if result.is_error:
                raise PiError(text or f"{reference} cannot be read.")
            page, mark, notice = text.rpartition("\n\n[Showing lines ")
            if not mark or "Use offset=" not in notice:
                return "\n".join([*parts, text])
            parts.append(page)
            offset = int(notice.partition("Use offset=")[2].split()[0])
        return "\n".join(parts)

    async def _screen(
        self,
        work: AgentWork | SharedAgents,
        histories: Histories | SharedAgents,
        ctx: CommandContext,
    ) -> None:
        is_read_only = isinstance(work, SharedAgents) and work.is_read_only

        def make(tui: Any, theme: Theme, keys: Any, done: Any) -> AgentsScreen:
            from pi.batteries.subagents.views import AgentsScreen  # deferred: only drawn here

            screen = AgentsScreen(
                work, histories, tui, theme, done, run=self._run, is_read_only=is_read_only
            )
            timer = self._pi.scope.every(REFRESH_SECONDS, tui.request_render)
            screen.on_close(timer.remove)
            return screen

        await self._show(make, ctx)

    async def _show(self, make: Any, ctx: CommandContext) -> None:
        await ctx.ui.custom(make)

    def _run(self, work: Any) -> None:
        """Run the coroutine of a key press in the background; errors are shown."""

        async def guarded() -> None:
            try:
                await work
            except PiError as error:
                self._pi.context.ui.notify(error.explain(), "error")

        self._pi.scope.spawn(guarded(), name="agents screen")


def _as_markdown(text: str) -> str:
    """JSON in a code fence, to keep its formatting; other texts unchanged."""
    try:
        json.loads(text)
    except ValueError:
        return text
    return f"```json\n{text}\n```"


def _row(node: AgentNode) -> str:
    tokens, cost = node.total()
    facts = [node.state, f"{tokens} tokens", f"${cost:.4f}"]
    facts += [node.activity] if node.activity else []
    facts += [node.reason] if node.reason else []
    facts += [f"unmerged: {node.branch or node.path}"] if node.branch or node.path else []
    indent = "  " * (len([*_above(node)]) - 1)
    return f"{indent}{SIGNS[node.state]} {node.id} ({', '.join(facts)}): {node.title}"


def _above(node: AgentNode | None) -> list[AgentNode]:
    ancestors = []
    while node is not None:
        ancestors.append(node)
        node = node.parent
    return ancestors

"""Connects sub-agents to a session: tools, commands, reports, abort and shutdown.

A service gives other extensions access to them, e.g. for the guests of a shared session.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, Literal

from pi.batteries.subagents.histories import Histories
from pi.batteries.subagents.isolation import IsolatedCopies
from pi.batteries.subagents.launching import HUB, TASK, AgentCatalog
from pi.batteries.subagents.nodes import ENTRY, AgentNode, AgentTree
from pi.batteries.subagents.submitting import YIELD, SubmitPolicy, TaskSubmission
from pi.batteries.subagents.tools import AgentCommands, Hub, TaskCalls
from pi.batteries.subagents.work import AgentWork
from pi.extension import (
    BeforeAgentStartEvent,
    Boundary,
    Custom,
    ExtensionAPI,
    ExtensionContext,
    Json,
    Next,
    PiError,
    Policy,
    SessionAbortEvent,
    SessionShutdownEvent,
    SessionStartEvent,
    ToolFailed,
    replace,
)

SERVICE = "agent_hub"
GO_ON = "Go on with your task."


class AgentHub:
    """The service ``pi.service("agent_hub")``."""

    def __init__(self, work: AgentWork, histories: Histories) -> None:
        self._work = work
        self.on_change = work.tree.on_change
        """Subscribes to every change. Returns an unsubscribe function."""
        self._histories = histories

    def agents(self) -> list[Json]:
        """One row for each agent, parents before children."""
        return [
            {
                "id": node.id,
                "name": f"{node.id} ({node.agent})",
                "status": node.state,
                "task": node.title,
                **_facts(node),
                **({"parent": node.parent.id} if node.parent is not None else {}),
            }
            for node in self._work.tree.all()
        ]

    async def command(self, id: str, action: str, text: str = "") -> None:
        """Send a message (``chat``, ``revive``) or cancel (``kill``). Raises ``PiError``."""
        node = self._find(id)
        try:
            if action == "kill":
                await self._work.cancel([node])
            elif action == "revive":
                await self._work.send(node, text.strip() or GO_ON)
            elif text.strip():
                await self._work.send(node, text)
        except ToolFailed as error:
            raise PiError(str(error)) from error

    async def transcript(self, id: str, offset: int, *, limit: int) -> tuple[str, int | None]:
        """A part of the transcript, and the offset of the next one; ``None`` at the end."""
        try:
            text = self._histories.text(self._find(id))
        except ToolFailed as error:
            raise PiError(str(error)) from error
        end = offset + limit
        return text[offset:end], end if end < len(text) else None

    def _find(self, id: str) -> AgentNode:
        node = self._work.tree.get(id)
        if node is None:
            raise PiError("This sub-agent does not exist any more.")
        return node


def _facts(node: AgentNode) -> Json:
    row = node.row()
    names = ("agent", "activity", "model", "requests", "tokens", "cost", "reason")
    return {name: row[name] for name in names if row[name]}


REPORT = "agent_result"
"""Custom type of messages about background agents that have ended."""
WAITING_MODES = ("print", "json")
"""Modes that exit after the last answer: they wait for background agents first."""
SWEEP_SECONDS = 20.0

SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("task.enabled", bool, False, "let the model give tasks to sub-agents"),
    ("task.batch", bool, True, "several tasks in one call"),
    ("task.maxConcurrency", int, 8, "agents that work at the same time; 0 for no limit"),
    ("task.maxRecursionDepth", int, 2, "how deep agents may give tasks to others"),
    ("task.maxRuntimeMs", int, 0, "milliseconds after which an agent is ended; 0 for no limit"),
    ("task.softRequestBudget", int, 200, "requests after which an agent is asked to finish"),
    ("task.agentIdleTtlMs", int, 600_000, "milliseconds that the session of an agent stays open"),
    ("task.agentModelOverrides", dict, {}, "models by agent"),
    ("task.disabledAgents", tuple[str, ...], (), "agents that are not offered"),
    ("task.isolation.enabled", bool, True, "let agents work in copies of the project"),
    ("task.isolation.merge", Literal["patch", "branch"], "patch", "how changes come back"),
    ("task.isolation.apply", bool, True, "merge changes back"),
    ("task.isolation.commits", Literal["generic", "ai"], "generic", "who writes commit messages"),
    (
        "isolation.backend",
        Literal["auto", "worktree", "copy", "overlay"],
        "auto",
        "how copies of the project are made",
    ),
    ("modelRoles", dict | Literal[False], {}, "models by role"),
)


def extension(pi: ExtensionAPI) -> None:
    """Register settings, views and commands; the tools are added at session start."""
    pi.settings.declare_all(SETTINGS)
    pi.add_view("tool", TASK, "pi.batteries.subagents.views:task")
    pi.add_view("tool", HUB, "pi.batteries.subagents.views:task")
    pi.add_view("message", REPORT, "pi.batteries.subagents.views:report")
    agents = SubAgents(pi)
    pi.on("session_start", agents.session_start)
    pi.on("session_shutdown", agents.session_shutdown)
    pi.on("session_abort", agents.session_abort)
    pi.events.on("plan_mode", agents.plan_mode)
    pi.on("before_agent_start", agents.prompted)


class SubAgents:
    """The sub-agents of one session."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self.tree = AgentTree(lambda: int(pi.settings.get("task.maxConcurrency")))
        self.catalog = AgentCatalog(pi)
        self.copies = IsolatedCopies(pi)
        self.work = AgentWork(pi, self.tree, self.catalog, self.copies)
        self.histories = Histories(self.tree)
        self._is_quiet = False
        """Whether the user has stopped all agents: reports must not start a run."""
        self._reported = asyncio.Event()
        self._sweeping: asyncio.Task[Any] | None = None
        self._count = 0
        """The number of agents in the status line."""
        self.calls = TaskCalls(pi, self.work, self._unmerged)
        self.work.task_tool = self.calls.tool
        self._reporting: set[str] = set()
        """Ids of agents whose reports are being sent."""
        self._commands = commands = AgentCommands(pi, self.work, self.histories)
        pi.register_command("agents", commands.agents, description="watch and end sub-agents")
        pi.register_command("open", commands.open, description="read a reference")
        self.tree.on_change(self._changed)

    # Session --------------------------------------------------------------------------------------

    def session_start(self, event: SessionStartEvent, ctx: ExtensionContext) -> None:
        """Add the tools, the scheme and the service; close working copies of killed processes."""
        pi = self._pi
        self.tree.earlier = partial(_remembered, ctx)  # on demand: a session can be long
        pi.add_scheme("history", self.histories)
        pi.provide(SERVICE, AgentHub(self.work, self.histories))
        enabled = pi.settings.get("task.enabled") is True
        exposure: Literal["active", "on_demand"] = "active" if enabled else "on_demand"
        pi.add_tool(self.calls.tool(None, None), exposure=exposure)
        pi.add_tool(Hub(self.work).tool(), exposure=exposure)
        self._offer_yield(ctx)
        pi.add_policy(AgentPolicy(self))
        self._sweeping = pi.scope.spawn(self._sweep(), name="working copies")

    def _offer_yield(self, ctx: ExtensionContext) -> None:
        """Add the tool ``yield``, with which this session itself returns a result if required.

        Otherwise the tool is hidden, and only registered so that guards know its tier.
        """
        submission = TaskSubmission(ctx.task.output_schema, "strict")
        requires = ctx.task.requires_result
        self._pi.add_tool(submission.tool, exposure="unlisted" if requires else "hidden")
        if requires:
            budget = int(self._pi.settings.get("task.softRequestBudget"))
            self._pi.add_policy(SubmitPolicy(submission, soft_budget=budget))
            self._pi.enable_tools([YIELD])

    async def session_shutdown(self, event: SessionShutdownEvent, ctx: ExtensionContext) -> None:
        """End all agents; no agent outlives its session."""
        await self.work.close()
        if self._sweeping is not None:  # a short run must not leave a copy half closed
            await asyncio.wait({self._sweeping}, timeout=SWEEP_SECONDS)

    def prompted(self, event: BeforeAgentStartEvent, ctx: ExtensionContext) -> None:
        """Let reports start runs again: the user has sent a prompt."""
        self._is_quiet = False

    async def _sweep(self) -> None:
        for closed in await self.copies.sweep():
            location = closed.branch or str(closed.path)
            self._pi.warn(f"Unmerged work of an agent was kept: {location}", kind="warning")

    # Background agents ----------------------------------------------------------------------------

    @property
    def runs_once(self) -> bool:
        """Whether the mode exits after the last answer."""
        return self._pi.context.mode in WAITING_MODES

    @property
    def running(self) -> list[AgentNode]:
        """Background agents that are active, or whose results were not delivered."""
        return [
            node
            for node in self.tree.roots
            if node.background and (node.is_active or node.id in self._reporting)
        ]

    def _changed(self) -> None:
        for node in self.tree.roots:
            ended = node.background and not node.is_active and node.id not in self._reporting
            if ended and not node.is_reported and not node.awaited:
                self._reporting.add(node.id)
                self._pi.scope.spawn(self._report(node), name=f"report of {node.id}")
        count = len(self.tree.active())
        if count != self._count:  # RPC clients get every call
            self._count = count
            noun = "agent" if count == 1 else "agents"
            self._pi.context.ui.set_status("agents", f"{count} {noun}" if count else None)

    async def _report(self, node: AgentNode) -> None:
        try:
            await node.wait()
            wakes = not node.is_cancelled and not self._is_quiet
            await self._pi.send_message(
                {
                    "custom_type": REPORT,
                    "content": self.work.report(node),
                    "details": {"agents": [node.row()]},
                },
                deliver_as="steer",
                trigger_turn=wakes and not self.runs_once,
            )
        finally:
            node.is_reported = True
            self._reporting.discard(node.id)
            self._reported.set()

    def _unmerged(self, node: AgentNode) -> None:
        """Report unmerged work of an aborted call: now to the user, next turn to the model."""
        location = node.branch or node.path
        self._pi.warn(f"Unmerged work of {node.id} was kept: {location}", kind="warning")
        message = {"custom_type": REPORT, "content": self.work.report(node)}
        sending = self._pi.send_message(
            {**message, "details": {"agents": [node.row()]}}, deliver_as="next_turn"
        )
        self._pi.scope.spawn(sending, name=f"report of {node.id}")

    async def wait_for_one(self) -> None:
        """Wait until the report of a background agent is in the queue."""
        self._reported.clear()
        if self.running:
            await self._reported.wait()

    # Abort ----------------------------------------------------------------------------------------

    async def stop_all(self) -> None:
        """Cancel every agent: the user has stopped the run."""
        self._is_quiet = True
        await self.work.cancel(self.tree.active())

    async def plan_mode(self, data: Any) -> None:
        """End agents in processes of their own when plan mode starts: it cannot restrict them."""
        if isinstance(data, dict) and data.get("on") is True:
            await self.work.end_processes("plan mode was switched on")

    async def session_abort(self, event: SessionAbortEvent, ctx: ExtensionContext) -> None:
        """End background agents after an abort without a run: Escape, or a client of RPC."""
        if event.was_idle and ctx.ui.get_editor_text():
            return  # while the user writes, Escape is for the text
        if self.tree.active():
            await self.stopped()

    async def stopped(self) -> None:
        """Cancel every agent and wait for it; cancelling the caller does not stop that."""
        await asyncio.shield(self._pi.scope.spawn(self.stop_all(), name="stop all agents"))


def _remembered(ctx: ExtensionContext) -> list[dict[str, Any]]:
    """The data of the entries about agents, in the order of the session file."""
    entries = (entry for entry in ctx.session_manager.get_entries() if isinstance(entry, Custom))
    return [
        entry.data
        for entry in entries
        if entry.custom_type == ENTRY and isinstance(entry.data, dict)
    ]


class AgentPolicy(Policy):
    """Ends the agents of an aborted run; keeps ``-p`` running until its agents have ended."""

    def __init__(self, agents: SubAgents) -> None:
        self._agents = agents

    async def at_boundary(self, boundary: Boundary) -> Next:
        """At the end of a run, wait for an agent and continue with its report."""
        agents = self._agents
        if boundary.kind != "settle":
            return boundary.next
        if boundary.outcome == "aborted" and agents.tree.active():
            await agents.stopped()
        waits = agents.runs_once and boundary.outcome == "completed"
        if not waits or boundary.next.claimed or not agents.running:
            return boundary.next
        return replace(boundary.next, action="again", prepare=agents.wait_for_one)

"""Connects plan mode to a session: commands, flags, a key, events."""

from __future__ import annotations

from typing import Any

from pi.batteries.plan.mode import PlanMode
from pi.batteries.plan.proposals import Proposals, take_over
from pi.extension import (
    CommandContext,
    ExtensionAPI,
    ExtensionContext,
    MessageEntry,
    SessionCompactEvent,
    SessionStartEvent,
    SessionTreeEvent,
)

SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("plan.enabled", bool, False, "offer plan mode: the key, and the tool from the first request"),
    ("plan.defaultOnStartup", bool, False, "start new sessions in plan mode"),
    ("plan.autosave", bool, False, "store approved plans in the project"),
    ("plan.autosaveDir", str, ".pi/plans", "where approved plans are stored"),
)
KEY = "alt+m"
"""Every terminal sends it as Escape and m; alt+shift+p would be the introducer of a DCS string."""
USAGE = "Usage: /plan, /plan TASK, /plan off"
NO_PLAN = "There is no plan yet. The model writes one in plan mode: /plan TASK"


def extension(pi: ExtensionAPI) -> None:
    """Register commands, flags, the key and the guards."""
    for name, kind, default, help in SETTINGS:
        pi.settings.declare(name, kind, default, help)
    pi.register_flag("plan-mode", type="boolean", description="start in plan mode")
    pi.register_flag("plan-yolo", type="boolean", description="plan first, approve by itself")
    pi.register_flag("plan", type="string", description="the model for the role plan")
    planning = Planning(pi)
    pi.add_view("tool", "propose_plan", "pi.batteries.plan.views:proposal")
    pi.register_command(
        "plan",
        planning.command,
        description="plan mode on or off: /plan, /plan TASK, /plan off",
        completions=lambda begin: [word for word in ("off",) if word.startswith(begin)],
        needs_run_here=True,
    )
    pi.register_command(
        "plan-review",
        planning.review,
        description="show the plan again, and approve or refine it",
        needs_run_here=True,
    )
    pi.register_shortcut(KEY, planning.toggle, description="plan mode on or off")
    pi.on("session_start", planning.session_start)
    pi.on("session_tree", planning.session_tree)
    pi.on("session_compact", planning.session_compact)
    guard = planning.mode.guard
    # The tools last: other handlers may still change arguments. The files first: nothing is
    # formatted or stored before it is refused. The programs last: the sandbox is outermost.
    pi.add_policy(guard, at="last")
    pi.wrap_files(guard.write, at="first")
    pi.wrap_spawn(guard.spawn, at="last")
    # Others that change files by themselves ask it: merges of sub-agents.
    pi.provide("plan-mode", planning.mode)
    # A sandbox inside of a sandbox cannot be set up: that of others yields while this one is used.
    pi.provide("command-sandbox", guard)


class Planning:
    """Plan mode as the user sees it."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self.mode = PlanMode(pi)
        self._approves = pi.get_flag("plan-yolo") is True
        self._proposals = Proposals(pi, self.mode, approves=self._approves)

    # Events ---------------------------------------------------------------------------------------

    async def session_start(self, event: SessionStartEvent, ctx: ExtensionContext) -> None:
        """Restore the state; start in plan mode, or with a plan that was approved before."""
        self.mode.restore()
        if self.mode.is_on or self._pi.settings.get("plan.enabled"):
            self._proposals.declare()
        if event.reason == "startup" and self._starts_on(ctx):
            await self._enter()
        if event.reason == "new" and (order := (await take_over(self._pi)).take()):
            await self._pi.send_user_message(order)

    def _starts_on(self, ctx: ExtensionContext) -> bool:
        if self._approves or self._pi.get_flag("plan-mode") is True:
            return True
        if self._pi.settings.get("plan.defaultOnStartup") is not True:
            return False
        return not any(isinstance(each, MessageEntry) for each in ctx.session_manager.get_branch())

    async def session_tree(self, event: SessionTreeEvent, ctx: ExtensionContext) -> None:
        """Use the state of the branch that the session moved to."""
        was_on = self.mode.is_on
        self.mode.restore()
        if self.mode.is_on:
            self._proposals.declare()
        if self.mode.is_on != was_on:
            await self.mode.publish()

    async def session_compact(self, event: SessionCompactEvent, ctx: ExtensionContext) -> None:
        """Repeat the announcement if the compaction has removed it."""
        if self.mode.is_on and not self.mode.is_announced():
            await self.mode.announce()

    # Commands -------------------------------------------------------------------------------------

    async def _enter(self) -> None:
        self._proposals.declare()
        await self.mode.enter()

    async def toggle(self, ctx: CommandContext) -> None:
        """Switch plan mode on or off."""
        if self.mode.is_on:
            await self.mode.leave()
            ctx.ui.notify("Plan mode is off.", "info")
        else:
            await self._enter()
            ctx.ui.notify("Plan mode is on: nothing is changed until you approve a plan.", "info")

    async def command(self, arguments: str, ctx: CommandContext) -> None:
        """``/plan``: a text is the task to plan."""
        text = arguments.strip()
        if text == "off":
            if self.mode.is_on:
                await self.toggle(ctx)
            return
        if not text:
            await self.toggle(ctx)
            return
        await self._enter()
        await ctx.send_user_message(text, deliver_as=None if ctx.is_idle() else "follow_up")

    async def review(self, arguments: str, ctx: CommandContext) -> None:
        """``/plan-review``: show the plan and ask for a decision."""
        plan = await self.mode.read()
        if not plan.strip():
            ctx.ui.notify(NO_PLAN, "warning")
            return
        ctx.write(plan.rstrip() + "\n")
        if ctx.has_ui:
            await ctx.wait_for_idle()
            await self._proposals.review(plan)

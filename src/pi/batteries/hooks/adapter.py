"""Connects hooks to a session: policies, events, ``/hooks``."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from pi.batteries.hooks.definitions import EVENTS, HookDefinition
from pi.batteries.hooks.payloads import END_REASONS, SESSION_SOURCES
from pi.batteries.hooks.policy import RunHooks, ToolHooks
from pi.batteries.hooks.session_hooks import HANDLER_SECONDS, SessionHooks
from pi.extension import (
    AgentSettledEvent,
    AgentStartEvent,
    CommandContext,
    CompactDecision,
    ExtensionAPI,
    ExtensionContext,
    InputAnswer,
    InputEvent,
    SessionBeforeCompactEvent,
    SessionCompactEvent,
    SessionShutdownEvent,
    SessionStartEvent,
    UiPromptStartEvent,
    one_line,
)

SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("hooks", Any, None, "hooks of pi, or false to run none of any agent"),
    ("sources.claude", Any, "ask", "whether files of Claude Code are used"),
)
IDLE_SECONDS = 60.0
"""After that a waiting user interface is reported to Notification hooks."""
_MAX_SHOWN = 100


def extension(pi: ExtensionAPI) -> None:
    """Register the command and the events; hooks are read when the session starts."""
    for name, kind, default, help in SETTINGS:
        pi.settings.declare(name, kind, default, help)
    battery = HookEvents(pi)
    pi.register_command("hooks", battery.command, description="show hooks and where they are from")
    pi.on("session_start", battery.start)
    pi.on("input", battery.input, at="last")
    pi.on("session_before_compact", battery.before_compact, at="last")
    pi.on("session_compact", battery.compacted)
    pi.on("session_shutdown", battery.end)
    pi.on("ui_prompt_start", battery.dialog)
    pi.on("agent_start", battery.begun)
    pi.on("agent_settled", battery.settled)


class HookEvents:
    """Calls hooks for the events of a session that are no part of a run."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._hooks = SessionHooks(pi)
        self._runs: RunHooks | None = None
        self._idle: asyncio.Task[None] | None = None

    def start(self, event: SessionStartEvent, ctx: ExtensionContext) -> None:
        """Read the definitions and subscribe, if there are any."""
        self._hooks.load()
        if not self._hooks.hooks:
            for problem in self._hooks.problems:
                self._hooks.report(problem)
            return
        self._runs = RunHooks(self._hooks, ctx)
        self._pi.add_policy(self._runs, at="last")
        if ctx.depth > 0:  # the parent's hooks guard the tool calls already
            self._hooks.start(None)
            return
        # First: guards of other extensions see the arguments that really run.
        self._pi.add_policy(ToolHooks(self._hooks, ctx), at="first")
        self._hooks.start(SESSION_SOURCES.get(event.reason))

    # Prompts --------------------------------------------------------------------------------------

    async def input(self, event: InputEvent, ctx: ExtensionContext) -> InputAnswer | None:
        """Remember a prompt for the boundary of its run; check a queued one at once."""
        if self._runs is None or ctx.depth > 0:
            return None
        if event.source == "extension":
            self._runs.prompt = None
            return None
        if ctx.is_idle():
            self._runs.prompt = event.text
            return None
        outcome = await self._hooks.fire_within(
            HANDLER_SECONDS, "UserPromptSubmit", prompt=event.text
        )
        if outcome.blocks or outcome.stops:
            self._hooks.report(outcome.reason or outcome.stop_reason or "A hook blocked a message.")
            return InputAnswer(action="handled")
        await self._hooks.add_context(outcome)
        return None

    # Compaction -----------------------------------------------------------------------------------

    async def before_compact(
        self, event: SessionBeforeCompactEvent, ctx: ExtensionContext
    ) -> CompactDecision | None:
        """Run PreCompact hooks; one that blocks cancels the compaction."""
        trigger = "manual" if event.reason == "manual" else "auto"
        outcome = await self._hooks.fire_within(
            HANDLER_SECONDS,
            "PreCompact",
            (trigger,),
            trigger=trigger,
            custom_instructions=event.custom_instructions,
        )
        if not outcome.blocks:
            return None
        self._hooks.report(outcome.reason)
        return CompactDecision(cancel=True)

    async def compacted(self, event: SessionCompactEvent, ctx: ExtensionContext) -> None:
        """Run PostCompact hooks, and those that restore context after a compaction."""
        trigger = "manual" if event.reason == "manual" else "auto"
        half, summary = HANDLER_SECONDS / 2, event.compaction_entry.summary
        fire = self._hooks.fire_within
        await fire(half, "PostCompact", (trigger,), trigger=trigger, compact_summary=summary)
        outcome = await fire(half, "SessionStart", ("compact",), source="compact")
        await self._hooks.variables.refresh()
        await self._hooks.add_context(outcome)

    # Session end and notifications ----------------------------------------------------------------

    async def end(self, event: SessionShutdownEvent, ctx: ExtensionContext) -> None:
        """Run SessionEnd hooks; a reload does not end a session."""
        if event.reason == "reload" or ctx.depth > 0:
            return
        reason = END_REASONS.get(event.reason, "other")
        if event.reason == "quit" and ctx.mode == "tui":
            reason = "prompt_input_exit"
        await self._hooks.fire_within(HANDLER_SECONDS, "SessionEnd", (reason,), reason=reason)

    def dialog(self, event: UiPromptStartEvent, ctx: ExtensionContext) -> None:
        """Run Notification hooks when a dialog waits for the user, unless a hook opened it."""
        if self._hooks.is_inside_hook or event.secret:
            return
        is_choice = event.kind in ("select", "confirm")
        kind = "permission_prompt" if is_choice else "elicitation_dialog"
        message = one_line(f"{event.title} {event.message}".strip())
        self._pi.scope.spawn(self._notify(kind, message), name="Notification hooks")

    def begun(self, event: AgentStartEvent, ctx: ExtensionContext) -> None:
        """Forget that the agent was idle."""
        if self._idle is not None:
            self._idle.cancel()

    def settled(self, event: AgentSettledEvent, ctx: ExtensionContext) -> None:
        """Run Notification hooks when the user has not answered for a while."""
        if ctx.has_ui and self._hooks.has("Notification"):
            self._idle = self._pi.scope.spawn(self._wait_idle(), name="idle notification")

    async def _wait_idle(self) -> None:
        await self._pi.scope.clock.sleep(IDLE_SECONDS)
        await self._notify("idle_prompt", "pi is waiting for your input")

    async def _notify(self, kind: str, message: str) -> None:
        await self._hooks.fire("Notification", (kind,), message=message, notification_type=kind)

    # ``/hooks`` -----------------------------------------------------------------------------------

    async def command(self, arguments: str, ctx: CommandContext) -> None:
        """Show all hooks by event, and what is wrong with the files."""
        self._hooks.load()
        ctx.write(report(self._hooks.hooks, self._hooks.problems) + "\n")


def report(hooks: Sequence[HookDefinition], problems: Sequence[str]) -> str:
    """Return what ``/hooks`` shows."""
    lines: list[str] = []
    for event in EVENTS:
        rows = [hook for hook in hooks if hook.event == event]
        if rows:
            lines += ("", f"{event}:", *(f"  {_row(hook)}" for hook in rows))
    if not lines:
        lines = ["There are no hooks. Define them in .claude/settings.json or settings.json of pi."]
    if problems:
        lines += ("", "Problems:", *(f"  {problem}" for problem in problems))
    return "\n".join(lines).strip()


def _row(hook: HookDefinition) -> str:
    matcher = f" [{hook.matcher}]" if hook.matcher else ""
    return f"{hook.type}{matcher}: {one_line(hook.label)[:_MAX_SHOWN]} ({hook.source})"

"""Connects hooks to a session: policies, events, ``/hooks``."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from pi.batteries.hooks.definitions import EVENTS, HookDefinition
from pi.batteries.hooks.execution import (
    END_REASONS,
    SESSION_SOURCES,
    call_values,
    changed_result,
    tool_fields,
    tool_response,
)
from pi.batteries.hooks.outcomes import Outcome
from pi.batteries.hooks.session_hooks import HANDLER_SECONDS, MESSAGE, SessionHooks
from pi.coding.claude_tools import claude_names, pi_arguments
from pi.extension import (
    AgentSettledEvent,
    AgentStartEvent,
    Boundary,
    CommandContext,
    CompactDecision,
    CustomMessageEntry,
    ExtensionAPI,
    ExtensionContext,
    InputAnswer,
    InputEvent,
    Next,
    PiError,
    Policy,
    SessionBeforeCompactEvent,
    SessionCompactEvent,
    SessionShutdownEvent,
    SessionStartEvent,
    StopRun,
    Text,
    ToolCall,
    ToolRefused,
    ToolResult,
    UiPromptStartEvent,
    one_line,
    replace,
)

MAX_BLOCKED_STOPS = 8
"""How often in a row hooks may keep the agent from stopping. Without a limit, a hook that always
blocks would cost money without end."""
SUB_AGENT = "general-purpose"
NOT_APPROVED = "The user did not approve this call."
NO_USER = "A hook requires the user's approval for this call, and there is no user to ask."


class ToolHooks(Policy):
    """Runs PreToolUse, PostToolUse and PostToolUseFailure, in nested sessions as well."""

    def __init__(self, hooks: SessionHooks, ctx: ExtensionContext) -> None:
        self._hooks = hooks
        self._ctx = ctx
        self._context: dict[str, tuple[str, ...]] = {}
        """Context of PreToolUse by call id; added to the result of the call."""

    async def before_tool(self, call: ToolCall) -> ToolCall:
        """Run PreToolUse hooks, which can refuse the call, change its arguments or ask the user.

        Raises ``ToolRefused`` or ``StopRun``.
        """
        if not self._hooks.has("PreToolUse") or call.id in self._hooks.runner.exempt:
            return call
        outcome = await self._hooks.fire(
            "PreToolUse",
            claude_names(call.name),
            call_values(call),
            **tool_fields(call, self._ctx.cwd),
        )
        if outcome.stops:
            raise StopRun(outcome.stop_reason or outcome.reason or "A hook stopped the agent.")
        if outcome.blocks or outcome.permission == "deny":
            raise ToolRefused(outcome.reason or "A PreToolUse hook denied this call.")
        if outcome.updated_input is not None:
            changed = pi_arguments(call.name, outcome.updated_input)
            call = replace(call, arguments=changed)
        if outcome.permission == "ask":
            await self._ask(call, outcome)
        if outcome.context:
            self._context[call.id] = outcome.context
        return call

    async def _ask(self, call: ToolCall, outcome: Outcome) -> None:
        if not self._ctx.has_ui:
            raise ToolRefused(outcome.reason or NO_USER)
        details = "\n".join(filter(None, (outcome.reason, *call_values(call))))
        if not await self._ctx.ui.confirm(f"Allow {call.name}?", details, default=False):
            raise ToolRefused(NOT_APPROVED)

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Run the hooks after a call, which can add context to the result, or replace it.

        Raises ``StopRun``.
        """
        context = self._context.pop(call.id, ())
        event = "PostToolUseFailure" if result.is_error else "PostToolUse"
        if call.id in self._hooks.runner.exempt:
            return result
        fields = tool_fields(call, self._ctx.cwd)
        if result.is_error:
            fields["error"] = "\n".join(b.text for b in result.content if isinstance(b, Text))
            fields["is_interrupt"] = False
        else:
            fields["tool_response"] = tool_response(call, result, self._ctx.cwd)
        names = claude_names(call.name)
        outcome = await self._hooks.fire(event, names, call_values(call), **fields)
        if outcome.stops:
            raise StopRun(outcome.stop_reason or outcome.reason or "A hook stopped the agent.")
        changed = changed_result(result, outcome.updated_output)
        if changed is not None:
            result = replace(result, content=changed)
        texts = [*context, *outcome.context]
        if outcome.blocks and outcome.reason:
            texts.append(f"{event} hook: {outcome.reason}")
        added = tuple(Text(text=text) for text in texts)
        return replace(result, content=result.content + added) if added else result


class RunHooks(Policy):
    """Runs UserPromptSubmit and Stop; in a nested session SubagentStart and SubagentStop."""

    def __init__(self, hooks: SessionHooks, ctx: ExtensionContext) -> None:
        self._hooks = hooks
        self._ctx = ctx
        self._is_nested = ctx.depth > 0
        self._agent = ctx.task.agent or SUB_AGENT
        self._blocked_stops = 0
        """How often hooks kept the current run from stopping."""
        self.prompt: str | None = None
        """The prompt of the user; ``None`` for a run that an extension starts."""

    async def at_boundary(self, at: Boundary) -> Next:
        """Run the hooks of a prompt, or those of an agent that is about to stop."""
        if at.kind == "prompt":
            self._blocked_stops = 0
            started = map(_entry, await self._hooks.ready())
            at = replace(at, next=replace(at.next, entries=(*at.next.entries, *started)))
            return await (self._begun(at) if self._is_nested else self._run_prompt_hooks(at))
        if at.kind == "settle" and at.outcome == "completed" and not at.next.claimed:
            return await self._stopping(at)
        return at.next

    async def _run_prompt_hooks(self, boundary: Boundary) -> Next:
        prompt, self.prompt = self.prompt, None
        if prompt is None:
            return boundary.next
        outcome = await self._hooks.fire("UserPromptSubmit", prompt=prompt)
        if outcome.blocks or outcome.stops:
            reason = outcome.reason or outcome.stop_reason or "A hook blocked the prompt."
            if self._ctx.mode == "rpc":  # the response to the prompt command is already sent
                self._hooks.report(reason)
            return replace(boundary.next, action="stop", reason=reason)
        return self._with_context(boundary.next, outcome)

    async def _begun(self, boundary: Boundary) -> Next:
        fields = {"agent_id": self._hooks.facts.session_id, "agent_type": self._agent}
        outcome = await self._hooks.fire("SubagentStart", (self._agent,), **fields)
        return self._with_context(boundary.next, outcome)

    async def _stopping(self, boundary: Boundary) -> Next:
        event = "SubagentStop" if self._is_nested else "Stop"
        if not self._hooks.has(event):
            return boundary.next
        subjects = (self._agent,) if self._is_nested else ()
        outcome = await self._hooks.fire(event, subjects, **self._stop_fields(boundary))
        if outcome.stops:
            return replace(boundary.next, action="stop", reason=outcome.stop_reason)
        if not outcome.blocks:
            self._blocked_stops = 0
            return self._with_context(boundary.next, outcome)
        self._blocked_stops += 1
        if self._blocked_stops > MAX_BLOCKED_STOPS:
            self._hooks.report(
                f"{event} hooks blocked {MAX_BLOCKED_STOPS} times in a row: the agent stops now."
                " Let the hook exit with 0 when stop_hook_active is true."
            )
            return boundary.next
        reason_entry = _entry(f"{event} hook: {outcome.reason}", display=True)
        entries = (*boundary.next.entries, *map(_entry, outcome.context), reason_entry)
        return replace(boundary.next, action="again", entries=entries)

    def _stop_fields(self, boundary: Boundary) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "stop_hook_active": self._blocked_stops > 0,
            "last_assistant_message": "" if boundary.answer is None else boundary.answer.text,
        }
        if self._is_nested:
            facts = self._hooks.facts
            fields |= {"agent_id": facts.session_id, "agent_type": self._agent}
            fields["agent_transcript_path"] = facts.transcript_path
        return fields

    def _with_context(self, decision: Next, outcome: Outcome) -> Next:
        added = tuple(map(_entry, outcome.context))
        return replace(decision, entries=decision.entries + added) if added else decision


def _entry(text: str, *, display: bool = False) -> CustomMessageEntry:
    return CustomMessageEntry(custom_type=MESSAGE, content=text, display=display)


SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("hooks", Any, None, "hooks of pi, or false to run none of any agent"),
    ("sources.claude", Any, "ask", "whether files of Claude Code are used"),
)
IDLE_SECONDS = 60.0
"""Idle time after which Notification hooks run."""
_MAX_SHOWN = 100


def extension(pi: ExtensionAPI) -> None:
    """Register the command and the events; hooks are read when the session starts."""
    pi.settings.declare_all(SETTINGS)
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
    """Runs hooks for the events of a session outside of runs."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._hooks = SessionHooks(pi)
        self._runs: RunHooks | None = None
        self._idle: asyncio.Task[None] | None = None

    def start(self, event: SessionStartEvent, ctx: ExtensionContext) -> None:
        """Read the definitions and subscribe, if there are any."""
        self._hooks.load()
        if not self._hooks.hooks:
            for message in self._hooks.problems:
                self._hooks.report(message)
            return
        self._runs = RunHooks(self._hooks, ctx)
        self._pi.add_policy(self._runs, at="last")
        if ctx.depth > 0:  # the parent's hooks guard the tool calls already
            self._hooks.start(None)
            return
        # First, so that guards of other extensions check the arguments after changes by hooks.
        self._pi.add_policy(ToolHooks(self._hooks, ctx), at="first")
        self._hooks.start(SESSION_SOURCES.get(event.reason))

    # Prompts --------------------------------------------------------------------------------------

    async def input(self, event: InputEvent, ctx: ExtensionContext) -> InputAnswer | None:
        """Store a prompt for the boundary of its run; run the hooks of a queued one at once."""
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
        """Run PostCompact hooks, then SessionStart hooks with the source ``compact``."""
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
        """Cancel the idle timer."""
        if self._idle is not None:
            self._idle.cancel()

    def settled(self, event: AgentSettledEvent, ctx: ExtensionContext) -> None:
        """Start the idle timer, after which Notification hooks run."""
        if ctx.has_ui and self._hooks.has("Notification"):
            self._idle = self._pi.scope.spawn(self._wait_idle(), name="idle notification")

    async def _wait_idle(self) -> None:
        await self._pi.scope.clock.sleep(IDLE_SECONDS)
        await self._notify("idle_prompt", "pi is waiting for your input")

    async def _notify(self, kind: str, message: str) -> None:
        await self._hooks.fire("Notification", (kind,), message=message, notification_type=kind)

    # ``/hooks`` -----------------------------------------------------------------------------------

    async def command(self, arguments: str, ctx: CommandContext) -> None:
        """Show all hooks by event, and the problems of their files."""
        if arguments:
            raise PiError("/hooks takes no arguments.", hint="Hooks are defined in settings files.")
        self._hooks.load()
        ctx.write(report(self._hooks.hooks, self._hooks.problems) + "\n")


def report(hooks: Sequence[HookDefinition], problems: Sequence[str]) -> str:
    """Return the text of ``/hooks``."""
    lines: list[str] = []
    for event in EVENTS:
        rows = [hook for hook in hooks if hook.event == event]
        if rows:
            lines += ("", f"{event}:", *(f"  {_row(hook)}" for hook in rows))
    if not lines:
        lines = ["There are no hooks. Define them in .claude/settings.json or settings.json of pi."]
    if problems:
        lines += ("", "Problems:", *(f"  {message}" for message in problems))
    return "\n".join(lines).strip()


def _row(hook: HookDefinition) -> str:
    matcher = f" [{hook.matcher}]" if hook.matcher else ""
    return f"{hook.type}{matcher}: {one_line(hook.label)[:_MAX_SHOWN]} ({hook.source})"

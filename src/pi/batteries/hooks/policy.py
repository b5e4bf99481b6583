"""Hooks of tool calls and runs, as policies: handlers of events would be ended after 30 seconds."""

from __future__ import annotations

from typing import Any

from pi.batteries.hooks.outcomes import Outcome
from pi.batteries.hooks.payloads import call_values, changed_result, tool_fields, tool_response
from pi.batteries.hooks.session_hooks import MESSAGE, SessionHooks
from pi.extension import (
    Boundary,
    CustomMessageEntry,
    ExtensionContext,
    Next,
    Policy,
    StopRun,
    Text,
    ToolCall,
    ToolRefused,
    ToolResult,
    claude_names,
    pi_arguments,
    replace,
)

MAX_BLOCKED_STOPS = 8
"""How often in a row hooks may keep the agent from stopping: a hook that never agrees would cost
money without end."""
SUB_AGENT = "general-purpose"
NOT_APPROVED = "The user did not approve this call."
NO_USER = "A hook requires the user's approval for this call, and there is no user to ask."


class ToolHooks(Policy):
    """Runs PreToolUse, PostToolUse and PostToolUseFailure, in nested sessions as well."""

    def __init__(self, hooks: SessionHooks, ctx: ExtensionContext) -> None:
        self._hooks = hooks
        self._ctx = ctx
        self._context: dict[str, tuple[str, ...]] = {}
        """Context of PreToolUse by call, sent with the result."""

    async def before_tool(self, call: ToolCall) -> ToolCall:
        """Let hooks refuse the call, change its arguments, or have the user asked."""
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
        about = "\n".join(filter(None, (outcome.reason, *call_values(call))))
        if not await self._ctx.ui.confirm(f"Allow {call.name}?", about):
            raise ToolRefused(NOT_APPROVED)

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Add what hooks say to the result, or replace it."""
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
        """What the user has sent; ``None`` for a run that an extension starts."""

    async def at_boundary(self, at: Boundary) -> Next:
        """Run the hooks of a prompt, or those of an agent that is about to stop."""
        if at.kind == "prompt":
            self._blocked_stops = 0
            started = map(_entry, await self._hooks.ready())
            at = replace(at, next=replace(at.next, entries=(*at.next.entries, *started)))
            return await (self._begun(at) if self._is_nested else self._submitted(at))
        if at.kind == "settle" and at.outcome == "completed" and not at.next.claimed:
            return await self._stopping(at)
        return at.next

    async def _submitted(self, at: Boundary) -> Next:
        prompt, self.prompt = self.prompt, None
        if prompt is None:
            return at.next
        outcome = await self._hooks.fire("UserPromptSubmit", prompt=prompt)
        if outcome.blocks or outcome.stops:
            reason = outcome.reason or outcome.stop_reason or "A hook blocked the prompt."
            if self._ctx.mode == "rpc":  # its answer to the prompt has been sent already
                self._hooks.report(reason)
            return replace(at.next, action="stop", reason=reason)
        return self._with_context(at.next, outcome)

    async def _begun(self, at: Boundary) -> Next:
        fields = {"agent_id": self._hooks.facts.session_id, "agent_type": self._agent}
        outcome = await self._hooks.fire("SubagentStart", (self._agent,), **fields)
        return self._with_context(at.next, outcome)

    async def _stopping(self, at: Boundary) -> Next:
        event = "SubagentStop" if self._is_nested else "Stop"
        if not self._hooks.has(event):
            return at.next
        subjects = (self._agent,) if self._is_nested else ()
        outcome = await self._hooks.fire(event, subjects, **self._stop_fields(at))
        if outcome.stops:
            return replace(at.next, action="stop", reason=outcome.stop_reason)
        if not outcome.blocks:
            self._blocked_stops = 0
            return self._with_context(at.next, outcome)
        self._blocked_stops += 1
        if self._blocked_stops > MAX_BLOCKED_STOPS:
            self._hooks.report(
                f"{event} hooks blocked {MAX_BLOCKED_STOPS} times in a row: the agent stops now."
                " Let the hook exit with 0 when stop_hook_active is true."
            )
            return at.next
        said = _entry(f"{event} hook: {outcome.reason}", display=True)
        entries = (*at.next.entries, *map(_entry, outcome.context), said)
        return replace(at.next, action="again", entries=entries)

    def _stop_fields(self, at: Boundary) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "stop_hook_active": self._blocked_stops > 0,
            "last_assistant_message": "" if at.answer is None else at.answer.text,
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

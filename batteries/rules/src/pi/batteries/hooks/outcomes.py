"""Parses exit codes and JSON of hooks, and merges them into one decision. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

import msgspec

from pi.batteries.hooks.definitions import HookDefinition
from pi.extension import Json, Record, one_line

Permission: TypeAlias = Literal["", "allow", "ask", "deny"]
_STRENGTH: dict[str, int] = {"": 0, "allow": 1, "ask": 2, "deny": 3}
PLAIN_CONTEXT = ("UserPromptSubmit", "SessionStart", "SubagentStart")
"""Events whose hooks may print their context as plain text."""
MAX_CONTEXT = 10_000
"""Maximum characters of each text that a hook adds to the conversation."""
BLOCKING_EXIT = 2
_NOT_FOUND = (126, 127)
_MAX_SHOWN = 300


class Outcome(Record):
    """The answer of one hook, or of all hooks of an event."""

    permission: Permission = ""
    reason: str = ""
    """Reason of a denial, question or block."""
    blocks: bool = False
    updated_input: Json | None = None
    updated_output: Any = None
    context: tuple[str, ...] = ()
    stops: bool = False
    """``continue: false``: the agent stops."""
    stop_reason: str = ""
    notices: tuple[str, ...] = ()
    """Messages for the user."""
    failure: str = ""
    """The error of a hook that did not work; the agent continues."""


def from_process(
    hook: HookDefinition, code: int | None, out: str, err: str, *, timed_out: bool
) -> Outcome:
    """Return the outcome of a program by its exit code and output."""
    if timed_out:
        return failed_outcome(hook, f"did not end within {hook.timeout:g} seconds and was stopped")
    if code == BLOCKING_EXIT:
        # A hook may block without a reason: the model should at least see that it was a hook.
        reason = err.strip() or f"A {hook.event} hook blocked this without giving a reason."
        return Outcome(blocks=True, reason=_short(reason))
    if code in _NOT_FOUND:
        return failed_outcome(hook, f"was not found or cannot be executed (exit code {code})", err)
    if code != 0:
        ended = "was ended by a signal" if code is None else f"failed with exit code {code}"
        return failed_outcome(hook, ended, err)
    return from_text(hook, out)


def failed_outcome(hook: HookDefinition, reason: str, details: str = "") -> Outcome:
    """Return the outcome of a hook that did not work."""
    label = one_line(hook.label)[:_MAX_SHOWN]
    more = one_line(details.strip())[:_MAX_SHOWN]
    return Outcome(
        failure=f"The {hook.event} hook `{label}` {reason}{f': {more}' if more else ''}."
    )


def from_text(hook: HookDefinition, text: str) -> Outcome:
    """Return the outcome of an output: a JSON object, or plain text."""
    text = text.strip()
    if text.startswith("{"):
        try:
            data = msgspec.json.decode(text)
        except msgspec.DecodeError as error:
            return failed_outcome(hook, f"printed invalid JSON ({error})")
        return from_json(hook, data)
    if text and hook.event in PLAIN_CONTEXT:
        return Outcome(context=(_short(text),))
    return Outcome()


def from_json(hook: HookDefinition, data: Json) -> Outcome:
    """Return the outcome that a JSON object describes."""
    own = data.get("hookSpecificOutput")
    own = own if isinstance(own, dict) else {}
    permission, reason = _permission(data, own)
    message = _text(data, "systemMessage")
    context = _text(own, "additionalContext") or _text(data, "additionalContext")
    changed = own.get("updatedInput")
    output = own.get("updatedToolOutput", own.get("updatedMCPToolOutput"))
    return Outcome(
        permission=permission,
        blocks=permission == "deny" or data.get("decision") == "block",
        reason=_short(reason or _text(data, "reason")),
        updated_input=changed if isinstance(changed, dict) else None,
        updated_output=output,
        context=(_short(context),) if context else (),
        stops=data.get("continue") is False,
        stop_reason=_short(_text(data, "stopReason")),
        notices=(_short(message),) if message else (),
    )


def _permission(data: Json, own: Json) -> tuple[Permission, str]:
    decision = own.get("permissionDecision")
    if decision in ("allow", "ask", "deny"):
        return decision, _text(own, "permissionDecisionReason")
    # The older form, which many scripts still print.
    match data.get("decision"):
        case "approve":
            return "allow", _text(data, "reason")
        case "block":
            return "deny", _text(data, "reason")
    return "", ""


def from_verdict(hook: HookDefinition, text: str) -> Outcome:
    """Return the outcome of a model's answer: ``{"ok": false, "reason": …}``."""
    begin, end = text.find("{"), text.rfind("}")
    try:
        verdict = msgspec.json.decode(text[begin : end + 1])
    except msgspec.DecodeError:
        return failed_outcome(hook, "was answered without a verdict", text)
    if not isinstance(verdict, dict) or not isinstance(verdict.get("ok"), bool):
        return failed_outcome(hook, "was answered without a verdict", text)
    if verdict["ok"]:
        return Outcome()
    reason = _text(verdict, "reason") or "The condition of a hook is not met."
    return Outcome(blocks=True, reason=_short(reason))


def merge_outcomes(outcomes: Iterable[Outcome]) -> Outcome:
    """Merge the outcomes of hooks that ran concurrently; the strictest decision wins."""
    total = Outcome()
    for outcome in outcomes:
        is_stricter = _STRENGTH[outcome.permission] > _STRENGTH[total.permission] or (
            outcome.blocks and not total.blocks
        )
        total = Outcome(
            permission=max(total.permission, outcome.permission, key=lambda p: _STRENGTH[p]),
            blocks=total.blocks or outcome.blocks,
            reason=outcome.reason if is_stricter or not total.reason else total.reason,
            updated_input=total.updated_input
            if outcome.updated_input is None
            else outcome.updated_input,
            updated_output=total.updated_output
            if outcome.updated_output is None
            else outcome.updated_output,
            context=total.context + outcome.context,
            stops=total.stops or outcome.stops,
            stop_reason=total.stop_reason or outcome.stop_reason,
            notices=(*total.notices, *outcome.notices, *filter(None, (outcome.failure,))),
        )
    return total


def _text(data: Json, name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""


def _short(text: str) -> str:
    if len(text) <= MAX_CONTEXT:
        return text
    return f"{text[:MAX_CONTEXT]}\n[{len(text) - MAX_CONTEXT} more characters of the hook left out]"

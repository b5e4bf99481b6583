"""A tool call that waits for a decision, and the decision. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from pi.batteries.permissions.rules import Rule
from pi.extension import CallEffects, Json, Record, ToolApproval

Action: TypeAlias = Literal["allow", "ask", "deny"]
URL = re.compile(r"(?i)\s*(https?|wss?|ftp)://")
"""The beginning of an address."""


class ToolRequest(Record):
    """A tool call that waits for a decision."""

    tool: str
    input: Json
    approval: ToolApproval = ToolApproval()
    effects: CallEffects = CallEffects(is_declared=False)
    agent: str = ""
    """The sub-agent that makes the call; empty for the agent of the session."""
    collides_with: str = ""
    """The name of an MCP tool that this one would have without its number, such as ``_2``."""

    @property
    def command(self) -> str | None:
        """The command line of ``bash``; ``None`` for other tools."""
        text = self.input.get("command")
        return text if self.tool == "bash" and isinstance(text, str) else None

    @property
    def urls(self) -> tuple[str, ...]:
        """All addresses in the arguments."""
        texts = (*self.effects.urls, *texts_of(self.input))
        return tuple(dict.fromkeys(text for text in texts if URL.match(text)))


class Decision(Record):
    """The decision about a call, and its reason."""

    action: Action
    reason: str = ""
    grants: tuple[str, ...] = ()
    """Rules that would allow the call; if empty, it can only be allowed once."""
    runs_project: bool = False
    """Whether the call only asks because it tests, checks or builds the project."""


def texts_of(value: Any) -> Iterable[str]:
    """All texts in the arguments of a call."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for member in value.values() if isinstance(value, dict) else value:
            yield from texts_of(member)


def rule_reason(rule: Rule, *, certain: bool = True) -> str:
    """The sentence that names the rule behind a decision."""
    source = f" ({rule.source})" if rule.source else ""
    verb = "applies" if certain else "may apply"
    return f"The {rule.effect} rule {rule.text}{source} {verb}."

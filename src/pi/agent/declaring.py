"""Telling the model of its prompt and tools: once, and then only what has changed. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pi.ai.messages import SystemMessage, Tool
from pi.ai.transcript import final_tools
from pi.base.records import UNSET

PROMPT_SECTION = "preamble"


def changes(
    said: Sequence[SystemMessage], prompt: str | None, tools: Sequence[Tool], *, now_ms: int
) -> tuple[SystemMessage, ...]:
    """What must be said after ``said`` so that ``prompt`` and ``tools`` hold; often nothing.

    Without a ``prompt`` that stays as it is.
    """
    declared = {tool.name: tool for tool in final_tools(said)}
    wanted = {tool.name for tool in tools}
    added = tuple(tool for tool in tools if declared.get(tool.name) != tool)
    removed = tuple({"name": name} for name in declared if name not in wanted)
    sections = {} if prompt in (None, _prompt(said)) else {PROMPT_SECTION: prompt or None}
    if not (added or removed or sections):
        return ()
    return (
        SystemMessage(
            content="",
            sections=sections or UNSET,
            tools_added=added or UNSET,
            tools_removed=removed or UNSET,
            timestamp=now_ms,
        ),
    )


def _prompt(said: Sequence[SystemMessage]) -> str:
    """The prompt as it stands after all patches."""
    current = ""
    for message in said:
        if isinstance(message.sections, dict) and PROMPT_SECTION in message.sections:
            current = message.sections[PROMPT_SECTION] or ""
    return current

"""System messages that declare prompt and tools: once, then only changes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import UNSET

from pi.ai.messages import RemovedTool, SystemMessage, Tool
from pi.ai.transcript import final_tools

PROMPT_SECTION = "preamble"


PromptText: TypeAlias = str | Mapping[str, str]
"""The whole prompt as one text, or named sections in order."""


def instruction_changes(
    said: Sequence[SystemMessage], prompt: PromptText | None, tools: Sequence[Tool], *, now_ms: int
) -> tuple[SystemMessage, ...]:
    """Return the system messages that bring the declared prompt and tools up to date.

    A ``prompt`` of ``None`` leaves the declared prompt unchanged.
    """
    declared = {tool.name: tool for tool in final_tools(said)}
    current = {tool.name for tool in tools}
    added = tuple(tool for tool in tools if declared.get(tool.name) != tool)
    removed = tuple(RemovedTool(name=name) for name in declared if name not in current)
    sections = {} if prompt is None else _changed(_sections(said), prompt)
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


def prompt_text(prompt: PromptText) -> str:
    """Return the prompt as one text, sections separated by blank lines."""
    return prompt if isinstance(prompt, str) else "\n\n".join(prompt.values())


def _changed(declared: dict[str, str], prompt: PromptText) -> dict[str, str | None]:
    """Return new and changed sections, ``None`` for removed ones. A plain text is one section."""
    if isinstance(prompt, str):
        known = declared.get(PROMPT_SECTION, "")
        return {} if prompt == known else {PROMPT_SECTION: prompt or None}
    new: dict[str, str | None] = {n: text for n, text in prompt.items() if declared.get(n) != text}
    return new | {name: None for name in declared if name not in prompt}


def _sections(said: Sequence[SystemMessage]) -> dict[str, str]:
    """Return the sections after all patches."""
    current: dict[str, str | None] = {}
    for message in said:
        current.update(message.sections or {})
    return {name: text for name, text in current.items() if text}

"""Telling the model of its prompt and tools: once, and then only what has changed. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import UNSET

from pi.ai.messages import RemovedTool, SystemMessage, Tool
from pi.ai.transcript import final_tools

PROMPT_SECTION = "preamble"


PromptText: TypeAlias = str | Mapping[str, str]
"""All of it as one text, or named sections in their order."""


def instruction_changes(
    said: Sequence[SystemMessage], prompt: PromptText | None, tools: Sequence[Tool], *, now_ms: int
) -> tuple[SystemMessage, ...]:
    """What must be said after ``said`` so that ``prompt`` and ``tools`` hold; often nothing.

    Without a ``prompt`` that stays as it is.
    """
    declared = {tool.name: tool for tool in final_tools(said)}
    wanted = {tool.name for tool in tools}
    added = tuple(tool for tool in tools if declared.get(tool.name) != tool)
    removed = tuple(RemovedTool(name=name) for name in declared if name not in wanted)
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
    """A prompt as one text: sections parted by blank lines."""
    return prompt if isinstance(prompt, str) else "\n\n".join(prompt.values())


def _changed(told: dict[str, str], prompt: PromptText) -> dict[str, str | None]:
    """What is new or different, and ``None`` for what is gone; a text is one section."""
    if isinstance(prompt, str):
        known = told.get(PROMPT_SECTION, "")
        return {} if prompt == known else {PROMPT_SECTION: prompt or None}
    new: dict[str, str | None] = {n: text for n, text in prompt.items() if told.get(n) != text}
    return new | {name: None for name in told if name not in prompt}


def _sections(said: Sequence[SystemMessage]) -> dict[str, str]:
    """The sections as they stand after all patches."""
    current: dict[str, str | None] = {}
    for message in said:
        current.update(message.sections or {})
    return {name: text for name, text in current.items() if text}

"""A branch as plain text: what ``/dump`` puts on the clipboard."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pi.ai.messages import Tool
from pi.base.terminal_text import sanitise
from pi.coding.export.sections import Part, Section, sections
from pi.coding.export.transcript import Transcript

NOTHING_TO_DUMP = "No messages to dump yet."
"""What a person is told when the text is empty."""

_NAMES = {"thinking": "Thinking", "result": "Result", "error": "Error"}


def render_text(transcript: Transcript) -> str:
    """What the model was told and what was said, as text; empty if nothing was said."""
    spoken = [_section(section) for section in sections(transcript, "model")]
    if not spoken:
        return ""
    return sanitise("\n\n".join((*_beginning(transcript), *spoken))) + "\n"


def _beginning(transcript: Transcript) -> Iterator[str]:
    told = transcript.instructions
    if told.prompt:
        yield _headed("System prompt", told.prompt)
    yield f"Model: {transcript.model or 'none'}\nThinking: {transcript.thinking_level}"
    if told.tools:
        yield _headed("Tools", "\n\n".join(map(_tool, told.tools)))


def _tool(tool: Tool) -> str:
    schema = json.dumps(tool.parameters, indent=2, ensure_ascii=False)
    return f"{tool.name}: {tool.description}\n{schema}"


def _section(section: Section) -> str:
    return _headed(section.heading, "\n\n".join(map(_part, section.parts)))


def _part(part: Part) -> str:
    match part.kind:
        case "words":
            return part.text
        case "call":
            return f"[{part.title}]\n{part.text}"
        case kind:
            return f"[{_NAMES[kind]}]\n{part.text}"


def _headed(heading: str, text: str) -> str:
    return f"=== {heading} ===\n\n{text}"

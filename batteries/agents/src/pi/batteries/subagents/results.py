"""Texts about the work of an agent: results within limits, and transcripts. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pi.extension import Json, Record

MAX_OUTPUT_BYTES = 500_000
MAX_OUTPUT_LINES = 5000
"""Default limits of a stored output (``PI_TASK_MAX_OUTPUT_BYTES`` and ``…_LINES``)."""
SHOWN_BYTES = 20_000
"""Bytes of one output in the result of a call; ``agent://`` has all of it."""


class OutputLimits(Record):
    """Limits of the stored output of an agent."""

    bytes: int = MAX_OUTPUT_BYTES
    lines: int = MAX_OUTPUT_LINES

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> OutputLimits:
        """The limits from environment variables; invalid values are ignored."""
        return cls(
            bytes=_positive(environ.get("PI_TASK_MAX_OUTPUT_BYTES")) or MAX_OUTPUT_BYTES,
            lines=_positive(environ.get("PI_TASK_MAX_OUTPUT_LINES")) or MAX_OUTPUT_LINES,
        )


def _positive(text: str | None) -> int:
    return int(text) if text and text.strip().isdecimal() else 0


def output_text(data: Any) -> str:
    """A result as text: texts as they are, everything else as JSON."""
    return data if isinstance(data, str) else json.dumps(data, indent=2, ensure_ascii=False)


def limited(text: str, limits: OutputLimits) -> str:
    """The beginning of ``text`` within the limits, with a note if it was truncated."""
    total_lines, total = text.count("\n") + 1, len(text.encode())
    if total <= limits.bytes and total_lines <= limits.lines:
        return text
    shortened = "\n".join(text.split("\n")[: limits.lines])
    data = shortened.encode()[: limits.bytes]
    shortened = data.decode("utf-8", "ignore")
    return f"{shortened}\n\n[Output limited: {len(data)} of {total} bytes, of {total_lines} lines.]"


class AgentReport(Record):
    """The result of an agent, for its caller."""

    id: str
    agent: str
    state: str
    output: str = ""
    reason: str = ""
    notes: tuple[str, ...] = ()


def report_text(report: AgentReport) -> str:
    """The result of one agent as text for its caller."""
    head = f"## {report.id} ({report.agent}): {report.state}"
    parts = [head, *report.notes]
    if report.reason:
        parts.append(f"Reason: {report.reason}")
    if report.output:
        data = report.output.encode()
        text = report.output
        if len(data) > SHOWN_BYTES:
            text = data[:SHOWN_BYTES].decode("utf-8", "ignore")
            text += f"\n\n[{SHOWN_BYTES} of {len(data)} bytes. Read agent://{report.id} for all.]"
        parts.append(text)
    return "\n\n".join(parts)


# Transcripts --------------------------------------------------------------------------------------

RESULT_LINES = 40
"""Lines of a tool result in a transcript."""


def transcript(messages: Iterable[Json]) -> str:
    """The messages of a session file as Markdown, without the system prompt."""
    return "\n\n".join(part for message in messages for part in _parts(message)).strip()


def _parts(message: Json) -> Iterable[str]:
    role, content = message.get("role"), message.get("content")
    match role:
        case "user" | "custom":
            yield f"## {'User' if role == 'user' else 'Notice'}\n\n{_plain(content)}"
        case "assistant":
            text = _plain(content)
            if text:
                yield f"## Agent\n\n{text}"
            for block in content if isinstance(content, list) else ():
                if isinstance(block, dict) and block.get("type") == "toolCall":
                    arguments = json.dumps(block.get("arguments"), ensure_ascii=False)
                    yield f"### {block.get('name')}\n\n```json\n{arguments}\n```"
            if message.get("errorMessage"):
                yield f"**Error:** {message['errorMessage']}"
        case "toolResult":
            lines = _plain(content).split("\n")
            hidden = len(lines) - RESULT_LINES
            visible_lines = (
                [*lines[:RESULT_LINES], f"[{hidden} more lines]"] if hidden > 0 else lines
            )
            fence = "````" if any("```" in line for line in visible_lines) else "```"
            yield "\n".join([fence, *visible_lines, fence])
        case _:
            return


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = (
        str(block.get("text", "")) if block.get("type") == "text" else f"[{block.get('type')}]"
        for block in blocks
        if isinstance(block, dict) and block.get("type") in ("text", "image")
    )
    return "\n".join(texts).strip()

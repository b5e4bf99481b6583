"""The result of an agent as text within limits. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pi.extension import Record

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

"""What a tool call is about, and what it changed: what can be told of it without its views."""

from __future__ import annotations

from pi.ai.messages import ToolCall, ToolResultMessage
from pi.base.terminal_text import one_line
from pi.coding.export.transcript import shortened

TELLING = ("command", "path", "file_path", "pattern", "query", "url", "name", "prompt")
"""Arguments that tell most about a call, the best one first."""
LONGEST_SUBJECT = 160


def subject(call: ToolCall) -> str:
    """The argument that tells most about a call, on one line; empty if there is none."""
    for name in TELLING:
        value = call.arguments.get(name)
        if isinstance(value, str) and value.strip():
            return shortened(one_line(value) + _window(call), LONGEST_SUBJECT)
    return ""


def text_argument(call: ToolCall, *names: str) -> str:
    """The first of the arguments that is a text; empty if none is."""
    for name in names:
        if isinstance(value := call.arguments.get(name), str):
            return value
    return ""


def changes(result: ToolResultMessage) -> str:
    """The changed lines of a file, each with its sign and number; empty if nothing was changed."""
    made = result.details.get("diff") if isinstance(result.details, dict) else None
    return made if isinstance(made, str) else ""


def _window(call: ToolCall) -> str:
    """Which lines of a file are meant, as ``:10-19``."""
    first, count = call.arguments.get("offset"), call.arguments.get("limit")
    if not isinstance(first, int) and not isinstance(count, int):
        return ""
    begin = first if isinstance(first, int) else 1
    return f":{begin}-{begin + count - 1}" if isinstance(count, int) else f":{begin}"

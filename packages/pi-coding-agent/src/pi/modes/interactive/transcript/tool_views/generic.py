"""The view of tools that have none."""

from __future__ import annotations

import msgspec

from pi.base.terminal_text import one_line
from pi.modes.interactive.transcript.block import TranscriptOptions
from pi.modes.interactive.transcript.tool_call_state import ToolCallState
from pi.modes.interactive.transcript.tool_views.view import (
    DrawnCall,
    failure,
    folded_head,
    paint_lines,
)

ROWS = 5


def generic_view(call: ToolCallState, look: TranscriptOptions, width: int) -> DrawnCall:
    """Arguments as ``name=value``, one per row when expanded; the first lines of the output."""
    pairs = [one_line(f"{name}={format_argument(value)}") for name, value in call.arguments.items()]
    muted = look.theme.paint("muted")
    if look.is_expanded:
        title, rows = "", [muted(pair) for pair in pairs]
    else:
        title, rows = muted(" ".join(pairs)), []
    if call.state == "failed":
        head = folded_head(rows, len(rows), look, width)
        return DrawnCall(title, [*head, *failure(call, look, width)])
    lines = paint_lines(call.text, look.theme.paint("toolOutput"))
    body = folded_head([*rows, *lines], ROWS, look, width)
    return DrawnCall(title, body)


def format_argument(value: object) -> str:
    """Format the value of an argument: text as it is, others as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()

"""What a view shows, as plain text."""

from __future__ import annotations

from typing import Any

from pi.ai.messages import Text
from pi.modes.interactive.transcript.block import TranscriptOptions
from pi.modes.interactive.transcript.tool_call_state import ToolCallState
from pi.modes.interactive.transcript.tool_views.view import View
from pi.tui.text.ansi import strip_sequences
from tests.modes.interactive.transcript.looks import look


def shown(
    view: View, call: ToolCallState, *, expanded: bool = False, width: int = 60
) -> tuple[str, list[str], str]:
    """Title, rows and note."""
    made: TranscriptOptions = look()
    made.is_expanded = expanded
    drawn = view(call, made, width)
    title = "\n".join((drawn.title, *drawn.more_title))
    rows = [strip_sequences(row).rstrip() for row in drawn.rows]
    return strip_sequences(title), rows, strip_sequences(drawn.note)


def done(
    call: ToolCallState, text: str, *, failed: bool = False, details: Any = None
) -> ToolCallState:
    """The call after it has ended."""
    call.end((Text(text=text),), details, failed=failed, now=0.0)
    return call

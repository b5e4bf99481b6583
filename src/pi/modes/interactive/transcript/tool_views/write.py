"""write: the file, and the beginning of what goes into it."""

from __future__ import annotations

from pi.base.terminal_text import one_line
from pi.modes.interactive.transcript.call import Call
from pi.modes.interactive.transcript.look import Look
from pi.modes.interactive.transcript.tool_views.read import code_lines
from pi.modes.interactive.transcript.tool_views.view import Shown, counted, failure, folded_head

PREVIEW_ROWS = 8


def write_view(call: Call, look: Look, width: int) -> Shown:
    """The path, how long it is, and its first lines."""
    path = one_line(call.argument("path"))
    title = look.theme.paint("accent")(look.short_path(path) or "…")
    if call.state == "failed":
        return Shown(title, failure(call, look, width))
    content = call.argument("content")
    if not content:
        return Shown(title)
    note = look.theme.paint("dim")(counted(len(content.removesuffix("\n").split("\n")), "line"))
    return Shown(
        title, folded_head(code_lines(content, path, look), PREVIEW_ROWS, look, width), note
    )

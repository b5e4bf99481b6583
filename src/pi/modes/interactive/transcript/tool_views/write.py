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
    lines = content.removesuffix("\n").split("\n")
    note = look.theme.paint("dim")(counted(len(lines), "line"))
    shown = lines if look.is_expanded else lines[:PREVIEW_ROWS]  # the others are not coloured
    code = code_lines("\n".join(shown), path, look)
    return Shown(title, folded_head(code, PREVIEW_ROWS, look, width, total=len(lines)), note)

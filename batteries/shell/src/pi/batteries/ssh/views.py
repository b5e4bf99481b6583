"""Draws a call of ``ssh``: the host, the action, and the end of the output."""

from __future__ import annotations

from pi.extension import Theme, ToolView, ViewOptions, one_line, sanitise

COLLAPSED = 5
"""Rows of output that a collapsed call shows."""


def draw_ssh(call: ToolView, options: ViewOptions, theme: Theme) -> list[str]:
    """The rows of a call; the first one follows the name of the tool."""
    arguments = call.arguments
    action = str(arguments.get("action") or "run")
    path = arguments.get("remotePath") or arguments.get("path", "")
    subject = arguments.get("command") if action == "run" else path
    verb = "" if action == "run" else f"{action} "
    title = f"{theme.fg('muted', one_line(str(arguments.get('host', '…'))))} "
    title += theme.fg("accent", one_line(f"{verb}{subject or ''}"))
    rows = sanitise(call.text).rstrip().split("\n") if call.text.strip() else []
    colour = "error" if call.state == "failed" else "toolOutput"
    hidden = 0 if options.expanded else max(0, len(rows) - COLLAPSED)
    more = [theme.fg("dim", f"… {hidden} earlier lines")] if hidden else []
    return [title, *more, *(theme.fg(colour, row) for row in rows[hidden:])]

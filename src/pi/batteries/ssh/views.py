"""Draws a call of ``ssh``: the host, what was done, and the end of the output."""

from __future__ import annotations

from pi.extension import Theme, ToolView, ViewOptions, one_line, sanitise

COLLAPSED = 5
"""Rows of output that a collapsed call shows."""


def draw_ssh(call: ToolView, options: ViewOptions, theme: Theme) -> list[str]:
    """The first line follows the name of the tool."""
    given = call.arguments
    action = str(given.get("action") or "run")
    what = given.get("command") if action == "run" else given.get("remotePath", "")
    verb = "" if action == "run" else f"{action} "
    title = f"{theme.fg('muted', one_line(str(given.get('host', '…'))))} "
    title += theme.fg("accent", one_line(f"{verb}{what or ''}"))
    rows = sanitise(call.text).rstrip().split("\n") if call.text.strip() else []
    colour = "error" if call.state == "failed" else "toolOutput"
    hidden = 0 if options.expanded else max(0, len(rows) - COLLAPSED)
    more = [theme.fg("dim", f"… {hidden} earlier lines")] if hidden else []
    return [title, *more, *(theme.fg(colour, row) for row in rows[hidden:])]

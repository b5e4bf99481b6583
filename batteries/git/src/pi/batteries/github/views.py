"""Draws a call of ``gh``: the action, its subject, and the beginning of the answer."""

from __future__ import annotations

from pi.extension import Theme, ToolView, ViewOptions, one_line, sanitise

COLLAPSED = 6
"""Rows of an answer that a collapsed call shows."""


def draw_gh(call: ToolView, options: ViewOptions, theme: Theme) -> list[str]:
    """The rows of a call. The first row is drawn after the name of the tool."""
    details = call.details if isinstance(call.details, dict) else {}
    arguments = call.arguments
    number = f" #{arguments['number']}" if arguments.get("number") else ""
    subject = (
        details.get("subject")
        or arguments.get("title")
        or arguments.get("query")
        or arguments.get("run")
    )
    title = theme.fg("accent", one_line(str(arguments.get("action", "…"))) + number)
    if subject_line := one_line(str(subject or ""))[:120]:
        title += f" {subject_line.removeprefix(number.strip()).strip()}"
    if repo := details.get("repo") or arguments.get("repo"):
        title += theme.fg("muted", f" · {one_line(str(repo))}")
    if call.state == "running":
        return [title]
    text = sanitise(call.text).strip()
    rows = [row for row in text.split("\n") if row.strip()]
    if rows and rows[0].startswith("[Text from GitHub"):
        rows = rows[1:]
    colour = "error" if call.state == "failed" else "toolOutput"
    hidden = 0 if options.expanded else len(rows) - COLLAPSED
    shown_rows = [theme.fg(colour, row) for row in (rows[:COLLAPSED] if hidden > 0 else rows)]
    more = [theme.fg("dim", f"… {hidden} more lines")] if hidden > 0 else []
    return [title, *shown_rows, *more]

"""Draws a call of ``resolve``: the change that was applied or discarded, and the reason."""

from __future__ import annotations

from pi.extension import Theme, ToolView, ViewOptions, one_line

COLLAPSED = 5
"""Lines of the result that a collapsed call shows."""
ELLIPSIS = "…"


def resolve(view: ToolView, options: ViewOptions, theme: Theme) -> list[str] | None:
    """The action with its label; ``None`` before there is a result, and for failures."""
    details = view.details
    if view.state != "done" or not isinstance(details, dict) or "label" not in details:
        return None
    applied = details.get("action") == "apply"
    verb = theme.fg("success", "applied") if applied else theme.fg("warning", "discarded")
    rows = [f"{verb} {one_line(str(details['label']))}"]
    source = one_line(str(details.get("sourceToolName", "")))
    rows.append(theme.fg("muted", f"{source}: {one_line(str(details.get('reason', '')))}"))
    for label in details.get("remaining", []):
        rows.append(theme.fg("warning", f"still pending: {one_line(str(label))}"))
    lines = view.text.splitlines()
    visible_lines = lines if options.expanded else lines[:COLLAPSED]
    rows += [one_line(line) for line in visible_lines]
    if hidden := len(lines) - len(visible_lines):
        rows.append(theme.fg("dim", f"{ELLIPSIS} {hidden} more lines"))
    return rows

"""The call of ``edit`` in the transcript: the files and their diffs."""

from __future__ import annotations

from typing import Any

from pi.batteries.edit_variants.patches import paths_of
from pi.extension import Theme, ToolView, ViewOptions, one_line, sanitise

COLLAPSED = 16
"""Rows of a diff that a collapsed call shows."""
ELLIPSIS = "…"
_COLOURS = {"+": "toolDiffAdded", "-": "toolDiffRemoved"}


def edit(view: ToolView, options: ViewOptions, theme: Theme) -> list[str] | None:
    """The paths, then a diff by file; ``None`` for failures, which are shown as text."""
    title = ", ".join(one_line(path) for path in paths_of(view.arguments))
    details: Any = view.details
    if view.state in ("asking", "running"):
        return [theme.fg("accent", title)] if title else None
    if view.state != "done" or not isinstance(details, dict) or "diff" not in details:
        return None
    files = details.get("files") or [{"path": "", "diff": details["diff"]}]
    rows = []
    for file in files:
        if len(files) > 1:
            rows.append(theme.fg("muted", f"{file.get('kind', '')} {one_line(file['path'])}"))
        for line in str(file["diff"]).split("\n") if file["diff"] else ():
            rows.append(theme.fg(_COLOURS.get(line[:1], "toolDiffContext"), _code(line)))
    visible = rows if options.expanded else rows[:COLLAPSED]
    if hidden := len(rows) - len(visible):
        visible = [*visible, theme.fg("dim", f"{ELLIPSIS} {hidden} more lines")]
    return [theme.fg("accent", title), *visible]


def _code(line: str) -> str:
    """A line of code with its indentation."""
    return sanitise(line).expandtabs(4).rstrip()

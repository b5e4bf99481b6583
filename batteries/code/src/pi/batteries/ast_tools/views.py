"""The calls of ``ast_grep`` and ``ast_edit`` in the transcript: matches, and diffs by file."""

from __future__ import annotations

from pi.extension import Theme, ToolView, ViewOptions, one_line, sanitise

COLLAPSED = 10
"""Rows that a collapsed call shows below its title."""
ELLIPSIS = "…"
_COLOURS = {"+": "toolDiffAdded", "-": "toolDiffRemoved"}


def search(view: ToolView, options: ViewOptions, theme: Theme) -> list[str] | None:
    """The pattern, then the matches by file."""
    details = view.details
    if view.state != "done" or not isinstance(details, dict) or "matches" not in details:
        return None
    pattern = one_line(str(view.arguments.get("pattern", "")))
    count = theme.fg("muted", f"{details['total']} matches, {details['files']} file(s)")
    rows, path = [], ""
    for match in details["matches"]:
        if match["path"] != path:
            path = match["path"]
            rows.append(theme.fg("accent", one_line(path)))
        for number, line in enumerate(str(match["text"]).split("\n"), match["line"]):
            rows.append(f"{theme.fg('dim', str(number))} {_code(line)}")
    return [f"{pattern} {count}", *_limited(rows, options, theme)]


def edit(view: ToolView, options: ViewOptions, theme: Theme) -> list[str] | None:
    """The label and the state, then a diff by file."""
    details = view.details
    if view.state != "done" or not isinstance(details, dict) or "files" not in details:
        return None
    if not details["files"]:
        return [theme.fg("muted", "no matches")]
    rows = []
    for file in details["files"]:
        rows.append(theme.fg("accent", f"{one_line(file['path'])} ({file['replacements']})"))
        for line in str(file["diff"]).split("\n"):
            rows.append(theme.fg(_COLOURS.get(line[:1], "toolDiffContext"), _code(line)))
    state = theme.fg("warning", "preview, waits for resolve")
    return [f"{one_line(str(details.get('label', '')))} {state}", *_limited(rows, options, theme)]


def _code(line: str) -> str:
    """A line of code with its indentation."""
    return sanitise(line).expandtabs(4).rstrip()


def _limited(rows: list[str], options: ViewOptions, theme: Theme) -> list[str]:
    if options.expanded or len(rows) <= COLLAPSED:
        return rows
    hidden = theme.fg("dim", f"{ELLIPSIS} {len(rows) - COLLAPSED} more lines")
    return [*rows[:COLLAPSED], hidden]

"""Draws a call of ``browser``; the screen draws the picture below it."""

from __future__ import annotations

from pi.extension import Theme, ToolView, ViewOptions, one_line, sanitise

COLLAPSED = 6
"""Rows of the page that a collapsed call shows."""
MAX_ARGUMENT = 80
_SHOWN = ("url", "ref", "selector", "text", "key", "script")


def draw_browser(call: ToolView, options: ViewOptions, theme: Theme) -> list[str] | None:
    """The action and its arguments, the address, and the page."""
    title = _title(call, options, theme)
    details = call.details if isinstance(call.details, dict) else {}
    rows = [row for row in sanitise(call.text).strip().split("\n") if row.strip()]
    if call.state == "running":
        return [title, *(theme.fg("muted", row) for row in rows[:1])]
    if call.state == "failed":
        return [title, *(theme.fg("error", row) for row in rows)]
    if call.state != "done":
        return [title]
    url = one_line(str(details.get("url", "")))
    if url and url != call.arguments.get("url"):
        title += theme.fg("muted", f" · {url}")
    page = rows[1:] if rows and rows[0].startswith("[Page ") else rows
    visible_rows = page if options.expanded else page[:COLLAPSED]
    drawn = [theme.fg("toolOutput", row) for row in visible_rows]
    if hidden := len(page) - len(visible_rows):
        drawn.append(theme.fg("dim", f"… {hidden} more lines"))
    return [title, *drawn]


def _title(call: ToolView, options: ViewOptions, theme: Theme) -> str:
    parts = [theme.fg("accent", one_line(str(call.arguments.get("action", "…"))))]
    for key in _SHOWN:
        value = call.arguments.get(key)
        if value in (None, ""):
            continue
        text = one_line(str(value))
        if not options.expanded and len(text) > MAX_ARGUMENT:
            text = f"{text[: MAX_ARGUMENT - 1]}…"
        parts.append(f"ref={text}" if key == "ref" else text)
    return " ".join(parts)

"""Draws a search: the question, the provider, and the pages as links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pi.batteries.web_search.json_values import cut
from pi.extension import Theme, ToolView, ViewOptions, one_line, sanitise
from pi.tui.text.ansi import link

COLLAPSED = 5
"""Pages that a collapsed search shows."""
ANSWER_ROWS = 3
"""Rows of the answer that a collapsed search shows."""


def draw_search(call: ToolView, options: ViewOptions, theme: Theme) -> list[str] | None:
    """The rows of a call; the first one follows the name of the tool."""
    details = call.details if isinstance(call.details, dict) else {}
    response = details.get("response")
    response = response if isinstance(response, dict) else {}
    title = theme.fg("accent", one_line(str(call.arguments.get("query", "…"))))
    if recency := call.arguments.get("recency"):
        title += theme.fg("muted", f" · past {one_line(str(recency))}")
    provider = one_line(str(response.get("provider", "")))
    if call.state == "running":
        return [f"{title}{theme.fg('muted', f' · asking {provider}' if provider else '')}"]
    if call.state != "done" or not response:
        return [title, *_rows(call.text, theme, "error")] if call.state == "failed" else [title]
    if error := details.get("error"):
        return [title, *_rows(str(error), theme, "error")]
    return [title + _source_count(response, provider, theme), *_result(response, options, theme)]


def _source_count(response: Mapping[str, Any], provider: str, theme: Theme) -> str:
    count = len(_sources(response))
    return theme.fg("muted", f" · {provider} · {count} source{'s' * (count != 1)}")


def _result(response: Mapping[str, Any], options: ViewOptions, theme: Theme) -> list[str]:
    rows = _rows(str(response.get("answer", "")), theme, "toolOutput")
    sources = _sources(response)
    visible_sources = sources if options.expanded else sources[:COLLAPSED]
    if not options.expanded and len(rows) > ANSWER_ROWS:
        rows = [*rows[:ANSWER_ROWS], theme.fg("dim", "…")]
    for number, source in enumerate(visible_sources, 1):
        rows += _source(number, source, options, theme)
    if hidden := len(sources) - len(visible_sources):
        rows.append(theme.fg("dim", f"… {hidden} more sources"))
    return rows


def _source(
    number: int, source: Mapping[str, Any], options: ViewOptions, theme: Theme
) -> list[str]:
    url = one_line(str(source.get("url", "")))
    title = one_line(str(source.get("title") or url))
    host = url.partition("://")[2].partition("/")[0]
    name = theme.fg("mdLink", title)
    if options.hyperlinks:
        row = f"{number}. {link(url, name)} {theme.fg('dim', host)}"
    else:  # a terminal without links shows the address
        row = f"{number}. {name} {theme.fg('dim', url)}"
    snippet = cut(one_line(str(source.get("snippet", ""))), 240)
    if options.expanded and snippet:
        return [row, f"   {theme.fg('muted', snippet)}"]
    return [row]


def _sources(response: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    sources = response.get("sources")
    return (
        [source for source in sources if isinstance(source, dict)]
        if isinstance(sources, list)
        else []
    )


def _rows(text: str, theme: Theme, colour: str) -> list[str]:
    return [theme.fg(colour, row) for row in sanitise(text).strip().split("\n") if row.strip()]

"""The head of the page: what session this is, what it cost, what the model was told."""

from __future__ import annotations

import json

from pi.ai.messages import Tool
from pi.coding.export.html.code import Painter
from pi.coding.export.html.markup import Html, esc, tag
from pi.coding.export.totals import Spent, Totals, dollars
from pi.coding.export.transcript import Transcript


def facts(transcript: Transcript, painter: Painter) -> Html:
    """The head of the page."""
    header, spent = transcript.header, transcript.totals.all
    requests = "1 request" if spent.requests == 1 else f"{spent.requests:,} requests"
    lines = {
        "Session": header.id,
        "Started": header.timestamp,
        "Directory": header.cwd,
        "Forked from": header.parent_session or "",
        "Entries": f"{len(transcript.nodes):,}",
        "Tokens": f"{spent.usage.total_tokens:,} in {requests}",
        "Cost": dollars(spent),
    }
    rows = ((name, value) for name, value in lines.items() if value)
    return tag(
        "section",
        tag("h1", esc(transcript.title)),
        tag("dl", *(tag("div", tag("dt", esc(n)), tag("dd", esc(v))) for n, v in rows)),
        _spending(transcript.totals),
        _prompt(transcript.instructions.prompt),
        _tools(transcript.instructions.tools, painter),
        id="facts",
    )


def _spending(totals: Totals) -> Html:
    if not totals.rows:
        return Html("")
    names = ("", "Requests", "Input", "Output", "Cache read", "Cache write", "Cost")
    rows = (*totals.rows, totals.all) if len(totals.rows) > 1 else totals.rows
    return tag(
        "details",
        tag("summary", esc("Usage and cost, all branches and what was compacted away included")),
        tag(
            "table",
            tag("tr", *(tag("th", esc(name)) for name in names)),
            *map(_spending_row, rows),
        ),
    )


def _spending_row(row: Spent) -> Html:
    usage = row.usage
    counts = (row.requests, usage.input, usage.output, usage.cache_read, usage.cache_write)
    cells = (*(f"{count:,}" for count in counts), dollars(row))
    return tag(
        "tr",
        tag("th", esc(row.what or "All")),
        *(tag("td", esc(cell), class_="right") for cell in cells),
    )


def _prompt(prompt: str) -> Html:
    if not prompt:
        return Html("")
    return tag(
        "details", tag("summary", esc("System prompt")), tag("pre", esc(prompt)), id="prompt"
    )


def _tools(tools: tuple[Tool, ...], painter: Painter) -> Html:
    if not tools:
        return Html("")
    return tag(
        "details",
        tag("summary", esc(f"Tools: {', '.join(tool.name for tool in tools)}")),
        *(_tool(tool, painter) for tool in tools),
        id="tools",
    )


def _tool(tool: Tool, painter: Painter) -> Html:
    schema = json.dumps(tool.parameters, indent=2, ensure_ascii=False)
    return tag(
        "section",
        tag("h2", esc(tool.name)),
        tag("p", esc(tool.description)),
        painter.block(schema, "json"),
    )

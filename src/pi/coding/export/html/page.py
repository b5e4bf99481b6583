"""Renders a transcript as one self-contained HTML page."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from pi.ai.messages import Tool
from pi.coding.export.html.articles import Articles
from pi.coding.export.html.markup import Html, Painter, esc, join, tag
from pi.coding.export.outline import OutlineRow, build_outline
from pi.coding.export.transcript import Spent, Totals, Transcript, dollars


def facts(transcript: Transcript, painter: Painter) -> Html:
    """Render the page header: session, cost, system prompt and tools."""
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


MAX_INDENT = 6
"""Maximum indentation of an outline row, in forks."""

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


class _Sheets(NamedTuple):
    """The static parts of every page."""

    template: str
    style: str
    script: str
    policy: str


def render_page(transcript: Transcript) -> str:
    """Render the transcript as an HTML page without network access and foreign scripts."""
    sheets, painter, rows = _sheets(), Painter(), build_outline(transcript)
    shown = set(transcript.branch())
    values = {
        "policy": esc(sheets.policy),
        "style": sheets.style,
        "script": sheets.script,
        "title": esc(transcript.title),
        "outline": join(_link(row, here=row.node in shown) for row in rows.values()),
        "parents": " ".join(str(node.parent) for node in transcript.nodes),
        "leaf": str(transcript.leaf),
        "facts": facts(transcript, painter),
        "articles": Articles(transcript, rows, painter).all(),
    }
    return _PLACEHOLDER.sub(lambda name: values[name[1]], sheets.template)


def _link(row: OutlineRow, *, here: bool) -> Html:
    classes = (row.kind, f"d{min(row.depth, MAX_INDENT)}", "here" if here else "")
    return tag(
        "a",
        esc(row.text or row.kind),
        href=f"#n{row.node}",
        data_go=row.node,
        class_=" ".join(filter(None, classes)),
    )


@cache
def _sheets() -> _Sheets:
    folder = files(__package__)
    template, style, script = (
        folder.joinpath(f"page.{kind}").read_text("utf-8") for kind in ("html", "css", "js")
    )
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return _Sheets(template, style, script, policy)


def _hash(source: str) -> str:
    digest = hashlib.sha256(source.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"

"""Renders a transcript as one self-contained HTML page: facts, and an article for each entry."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import msgspec

from pi.agent.compaction.text import readable_summary
from pi.ai.messages import (
    AssistantMessage,
    Image,
    Json,
    SystemMessage,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    blocks,
)
from pi.coding.export.html.markup import (
    Html,
    Painter,
    Value,
    esc,
    join,
    rich_text,
    tag,
)
from pi.coding.export.html.tool_calls import (
    Result,
    cells_of,
    image,
    lone_result,
    tool_call,
    with_cells,
)
from pi.coding.export.outline import OutlineRow, build_outline
from pi.coding.export.transcript import (
    Node,
    Spent,
    Totals,
    Transcript,
    dollars,
    model_name,
    strip_blank_lines,
)
from pi.coding.session.entries import (
    BashExecution,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    Custom,
    CustomMessage,
    Entry,
    UnknownEntry,
)

_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)[\d:.]*Z")
ENDS = {
    "aborted": "The answer was stopped.",
    "error": "The answer failed.",
    "length": "The answer was cut off: it reached its greatest length.",
}
"""Notes for incomplete answers by stop reason."""
KINDS: dict[type, str] = {
    AssistantMessage: "assistant",
    UserMessage: "user",
    CustomMessage: "custom",
    ToolResultMessage: "lone-result",
    BashExecution: "bash",
    CompactionSummaryMessage: "divider",
    BranchSummaryMessage: "divider",
}
"""CSS class of a message's article."""
AUTHORS: dict[type, str] = {
    UserMessage: "You",
    ToolResultMessage: "Tool",
    BashExecution: "You ran",
    CompactionSummaryMessage: "Compaction",
    BranchSummaryMessage: "Branch",
    SystemMessage: "System prompt",
}


class Articles:
    """Renders the nodes of a transcript; ``rows`` contain the siblings at forks."""

    def __init__(
        self, transcript: Transcript, rows: Mapping[int, OutlineRow], painter: Painter
    ) -> None:
        self._nodes = transcript.nodes
        self._results = transcript.results
        self._rows = rows
        self._shown: Collection[int] = set(transcript.branch())
        self._painter = painter

    def all(self) -> Html:
        """Render every node that is not part of another one, in file order."""
        numbers = range(len(self._nodes))
        return join(self.article(n) for n in numbers if self._nodes[n].call is None)

    def article(self, number: int) -> Html:
        """Render a node; it is hidden if it is not on the current branch."""
        node = self._nodes[number]
        return tag(
            "article",
            tag(
                "header",
                tag("span", esc(_author(node)), class_="who"),
                _time_tag(node.entry.timestamp),
                tag("span", esc(node.label), class_="label") if node.label else Html(""),
                self._render_switch(number),
            ),
            self._render_body(number),
            id=f"n{number}",
            data_n=number,
            class_="aside" if node.aside else KINDS[type(node.message)],
            hidden=number not in self._shown,
        )

    def _render_switch(self, number: int) -> Html:
        """Render the branch selector of a fork."""
        row = self._rows.get(number)
        if row is None or not row.siblings:
            return Html("")
        index = row.siblings.index(number)
        before, after = row.siblings[:index][-1:], row.siblings[index + 1 :][:1]
        return tag(
            "nav",
            _jump_button("‹", "Previous branch", before),
            tag("span", esc(f"{index + 1}/{len(row.siblings)}")),
            _jump_button("›", "Next branch", after),
            class_="switch",
            aria_label="Branches",
        )

    def _render_body(self, number: int) -> Html:
        node = self._nodes[number]
        match node.message:
            case AssistantMessage() as answer:
                body = self._render_answer(number, answer)
            case CustomMessage(content=content, details=details) if cells_of(details):
                body = with_cells(details, blocks(content), self._painter)
            case UserMessage(content=content) | CustomMessage(content=content):
                body = self._render_mixed(blocks(content))
            case ToolResultMessage() as result:
                body = lone_result(result, self._painter)
            case BashExecution() as execution:
                body = self._render_command(execution)
            case CompactionSummaryMessage() as compaction:
                title = f"Compacted: {compaction.tokens_before:,} tokens became this summary"
                body = self._render_folded(title, readable_summary(compaction.summary), "summary")
                body = join((body, self._render_mixed(compaction.content or ())))
            case BranchSummaryMessage(summary=summary):
                title = "Summary of a branch that was left"
                body = self._render_folded(title, readable_summary(summary), "summary")
            case None if isinstance(node.entry, Custom) and cells_of(node.entry.data):
                body = with_cells(node.entry.data, (), self._painter)
            case SystemMessage() | None:
                body = _data(node.entry)
        return body

    def _render_answer(self, number: int, answer: AssistantMessage) -> Html:
        parts = [
            self._render_block(number, position, block)
            for position, block in enumerate(answer.content)
        ]
        if end := answer.error_message or ENDS.get(answer.stop_reason):
            parts.append(tag("p", esc(end), class_="error"))
        return join(parts)

    def _render_block(self, number: int, position: int, block: Text | Thinking | ToolCall) -> Html:
        match block:
            case Text(text=text):
                return self._render_text(text)
            case Thinking(redacted=True):
                return tag("p", esc("Thinking that the provider keeps to itself."), class_="note")
            case Thinking(thinking=thought) if thought.strip():
                return self._render_folded("Thinking", thought, "thinking")
            case Thinking():
                return Html("")
            case ToolCall():
                results = map(self._make_result, self._results.get((number, position), ()))
                return tool_call(block, tuple(results), self._painter)

    def _make_result(self, number: int) -> Result:
        message = self._nodes[number].message
        assert isinstance(message, ToolResultMessage)
        return Result(node=number, message=message, shown=number in self._shown)

    def _render_command(self, execution: BashExecution) -> Html:
        notes = (
            f"exit code {execution.exit_code}" if execution.exit_code else "",
            "cancelled" if execution.cancelled else "",
            f"cut; all of it was in {execution.full_output_path}"
            if execution.full_output_path
            else "",
            "not shown to the model" if execution.exclude_from_context else "",
        )
        return join(
            (
                self._painter.block(execution.command, "bash", before="$ "),
                self._painter.block(strip_blank_lines(execution.output) or "(no output)"),
                tag("p", esc(", ".join(filter(None, notes))), class_="note"),
            )
        )

    def _render_folded(self, title: str, text: str, kind: str) -> Html:
        return tag("details", tag("summary", esc(title)), self._render_text(text), class_=kind)

    def _render_mixed(self, parts: Sequence[Text | Image]) -> Html:
        return join(
            self._render_text(part.text) if isinstance(part, Text) else image(part)
            for part in parts
        )

    def _render_text(self, text: str) -> Html:
        return tag("div", rich_text(strip_blank_lines(text), self._painter), class_="words")


def _jump_button(sign: str, meaning: str, to: Sequence[int]) -> Html:
    """Render a button that goes to a node; disabled without one."""
    attributes: dict[str, Value] = {"data_go": to[0]} if to else {"disabled": True}
    return tag("button", esc(sign), type="button", aria_label=meaning, **attributes)


def _author(node: Node) -> str:
    """Return the author of a message, or the type of another entry."""
    match node.message:
        case AssistantMessage(provider=provider, model=model):
            return model_name(provider, model)
        case CustomMessage(custom_type=kind):
            return kind
        case None:
            return str(_plain(node.entry).get("type", "unknown"))
        case message:
            return AUTHORS[type(message)]


def _time_tag(timestamp: str) -> Html:
    """Render the time in UTC, to the minute; empty if it is invalid."""
    parts = _TIME.fullmatch(timestamp)
    return tag("time", esc(f"{parts[1]} {parts[2]}"), datetime=timestamp) if parts else Html("")


def _data(entry: Entry) -> Html:
    """Render an entry as JSON."""
    written = json.dumps(_plain(entry), indent=2, ensure_ascii=False)
    return tag("details", tag("summary", esc("Data")), tag("pre", esc(written), class_="data"))


def _plain(entry: Entry) -> Json:
    if isinstance(entry, UnknownEntry):
        return entry.data
    plain: Json = msgspec.to_builtins(entry)
    return plain


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


class _PageAssets(NamedTuple):
    """The static parts of every page."""

    template: str
    style: str
    script: str
    policy: str


def render_page(transcript: Transcript) -> str:
    """Render the transcript as an HTML page without network access and foreign scripts."""
    sheets, painter, rows = _sheets(), Painter(), build_outline(transcript)
    branch = set(transcript.branch())
    values = {
        "policy": esc(sheets.policy),
        "style": sheets.style,
        "script": sheets.script,
        "title": esc(transcript.title),
        "outline": join(_link(row, on_branch=row.node in branch) for row in rows.values()),
        "parents": " ".join(str(node.parent) for node in transcript.nodes),
        "leaf": str(transcript.leaf),
        "facts": facts(transcript, painter),
        "articles": Articles(transcript, rows, painter).all(),
    }
    return _PLACEHOLDER.sub(lambda name: values[name[1]], sheets.template)


def _link(row: OutlineRow, *, on_branch: bool) -> Html:
    classes = (row.kind, f"d{min(row.depth, MAX_INDENT)}", "here" if on_branch else "")
    return tag(
        "a",
        esc(row.text or row.kind),
        href=f"#n{row.node}",
        data_go=row.node,
        class_=" ".join(filter(None, classes)),
    )


@cache
def _sheets() -> _PageAssets:
    folder = files(__package__)
    template, style, script = (
        folder.joinpath(f"page.{kind}").read_text("utf-8") for kind in ("html", "css", "js")
    )
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return _PageAssets(template, style, script, policy)


def _hash(source: str) -> str:
    digest = hashlib.sha256(source.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"

"""Entries and tool calls as HTML: one article for each entry.

Tools like ``python`` report cells in ``details.cells``: objects with ``code``, and with ``title``,
``status``, ``output`` and ``durationMs`` if they are known; ``details.language`` says how the code
is painted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from pi.agent.compaction.text import readable_summary
from pi.ai.messages import (
    AssistantMessage,
    Image,
    Json,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    blocks,
)
from pi.base.records import Record
from pi.coding.export.html.details import drawn, repeats_arguments, resolved_action
from pi.coding.export.html.markup import (
    Html,
    Painter,
    Value,
    diff,
    esc,
    join,
    picture,
    rich_text,
    tag,
)
from pi.coding.export.outline import OutlineRow, changes, subject, text_argument
from pi.coding.export.transcript import Node, Transcript, model_name, strip_blank_lines
from pi.coding.session.entries import (
    BashExecution,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    Custom,
    CustomMessage,
    Entry,
    UnknownEntry,
)


def cells_of(details: object) -> Sequence[Mapping[str, Any]]:
    """Return the cells in the details of a result or message; empty if there are none."""
    cells = details.get("cells") if isinstance(details, dict) else None
    found = cells if isinstance(cells, list | tuple) else ()
    return [each for each in found if isinstance(each, dict) and isinstance(each.get("code"), str)]


def cells(details: Mapping[str, Any], painter: Painter) -> Html:
    """Render the cells: code, status and output of each."""
    listed, language = cells_of(details), str(details.get("language", ""))
    return join(
        _cell(cell, f"[{number}/{len(listed)}]" if len(listed) > 1 else "", language, painter)
        for number, cell in enumerate(listed, 1)
    )


def _cell(cell: Mapping[str, Any], place: str, language: str, painter: Painter) -> Html:
    status, took = str(cell.get("status", "")), cell.get("durationMs")
    notes = [place, str(cell.get("title") or ""), "" if status == "ok" else status]
    notes.append(f"{took / 1000:.1f} s" if isinstance(took, int | float) and took >= 100 else "")
    output = strip_blank_lines(str(cell.get("output") or ""))
    return tag(
        "section",
        tag("p", esc(" · ".join(filter(None, notes))), class_="note") if any(notes) else Html(""),
        painter.block(str(cell["code"]), language),
        painter.block(output) if output else Html(""),
        class_="cell failed" if status in ("error", "interrupted") else "cell",
    )


class Result(Record):
    """A result of a call, with its node number and whether it is on the shown branch."""

    node: int
    message: ToolResultMessage
    shown: bool


def tool_call(call: ToolCall, results: Sequence[Result], painter: Painter) -> Html:
    """Render a call as a fold with arguments and results; changes and failures are open."""
    failed = any(result.message.is_error for result in results)
    changed = any(changes(result.message) for result in results)
    hides_arguments = any(_shows_arguments(result.message) for result in results)
    status = "failed" if failed else "" if results else "unanswered"
    title = tag("span", esc(call.name), class_="tool-name")
    about = tag("span", esc(subject(call)), class_="subject")
    return tag(
        "details",
        tag("summary", title, Html(" "), *_badge(status), about),
        Html("") if hides_arguments else _arguments(call, changed=changed, painter=painter),
        *(_result(call, result, painter) for result in results),
        class_=f"tool {status}".strip(),
        open=failed or changed,
    )


def lone_result(message: ToolResultMessage, painter: Painter) -> Html:
    """Render a result whose call is not in the session."""
    title = tag("span", esc(message.tool_name), class_="tool-name")
    status = "failed" if message.is_error else ""
    return tag(
        "details",
        tag("summary", title, Html(" "), *_badge(status)),
        content(message.content, painter),
        class_=f"tool {status}".strip(),
    )


def content(parts: Sequence[Text | Image], painter: Painter, *, file: str = "") -> Html:
    """Render texts and images."""
    return join(_part(part, painter, file=file) for part in parts)


def image(part: Image) -> Html:
    """Render an image, or a note if it cannot be shown."""
    if source := picture(part.data, part.mime_type):
        return tag("img", src=source, alt="image", class_="picture", loading="lazy")
    return tag("p", esc(f"[image that cannot be shown: {part.mime_type}]"), class_="note")


def _badge(status: str) -> tuple[Html, ...]:
    return (tag("span", esc(status), class_="badge"), Html(" ")) if status else ()


def _arguments(call: ToolCall, *, changed: bool, painter: Painter) -> Html:
    file = text_argument(call, "path", "file_path")
    match call.name:
        case "bash" | "powershell" if command := text_argument(call, "command"):
            block = painter.block(command, call.name, before="$ ")
            others = {k: v for k, v in call.arguments.items() if k not in ("command", "timeout")}
            return join((block, _as_json(others, painter))) if others else block
        case "write" if "content" in call.arguments:
            return painter.block(text_argument(call, "content"), file=file)
        case "edit" if changed:
            return Html("")
        case "read" | "ls" if set(call.arguments) <= {"path", "file_path", "offset", "limit"}:
            return Html("")  # the title contains all arguments
        case _ if call.arguments:
            return _as_json(call.arguments, painter)
        case _:
            return Html("")


def _as_json(arguments: Json, painter: Painter) -> Html:
    written = json.dumps(arguments, indent=2, ensure_ascii=False)
    return painter.block(written, "json")


def _result(call: ToolCall, result: Result, painter: Painter) -> Html:
    message = result.message
    body = _body(call, message, painter)
    classes = "result failed" if message.is_error else "result"
    return tag("div", body, class_=classes, data_n=result.node, hidden=not result.shown)


def _body(call: ToolCall, message: ToolResultMessage, painter: Painter) -> Html:
    """Render a result from its details; from its text if they have no known shape."""
    details: Any = message.details
    if cells_of(details):
        return _with_cells(details, message.content, painter)
    if action := resolved_action(details):
        made = drawn(details.get("sourceDetails"))
        return join((action, _with_failure(made, message, painter)))
    if found := drawn(details):
        return _with_failure(found, message, painter)
    if made_changes := changes(message):
        return diff(made_changes)
    reads = call.name == "read" and not message.is_error
    file = text_argument(call, "path", "file_path") if reads else ""
    return content(message.content, painter, file=file)


def _with_failure(found: Html | None, message: ToolResultMessage, painter: Painter) -> Html:
    """Add the text to drawn details if it explains a failure; otherwise it repeats them."""
    if found is not None and not message.is_error:
        return found
    return join((found or Html(""), content(message.content, painter)))


def _shows_arguments(message: ToolResultMessage) -> bool:
    """Whether the drawn result contains what the arguments of its call say."""
    if cells_of(message.details):
        return True
    return repeats_arguments(message.details) and not message.is_error


def _with_cells(details: Any, parts: Sequence[Text | Image], painter: Painter) -> Html:
    """Render cells, then images; the text repeats what the cells show."""
    return join((cells(details, painter), *(image(p) for p in parts if isinstance(p, Image))))


def _part(part: Text | Image, painter: Painter, *, file: str) -> Html:
    if isinstance(part, Image):
        return image(part)
    text = strip_blank_lines(part.text)
    return painter.block(text, file=file) if text else Html("")


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
SPEAKERS: dict[type, str] = {
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
                tag("span", esc(_who(node)), class_="who"),
                _when(node.entry.timestamp),
                tag("span", esc(node.label), class_="label") if node.label else Html(""),
                self._switch(number),
            ),
            self._body(number),
            id=f"n{number}",
            data_n=number,
            class_="aside" if node.aside else KINDS[type(node.message)],
            hidden=number not in self._shown,
        )

    def _switch(self, number: int) -> Html:
        """Render the branch selector of a fork."""
        row = self._rows.get(number)
        if row is None or not row.siblings:
            return Html("")
        here = row.siblings.index(number)
        before, after = row.siblings[:here][-1:], row.siblings[here + 1 :][:1]
        return tag(
            "nav",
            _way("‹", "Previous branch", before),
            tag("span", esc(f"{here + 1}/{len(row.siblings)}")),
            _way("›", "Next branch", after),
            class_="switch",
            aria_label="Branches",
        )

    def _body(self, number: int) -> Html:
        node = self._nodes[number]
        match node.message:
            case AssistantMessage() as answer:
                body = self._answer(number, answer)
            case CustomMessage(content=content, details=details) if cells_of(details):
                body = _with_cells(details, blocks(content), self._painter)
            case UserMessage(content=content) | CustomMessage(content=content):
                body = self._mixed(blocks(content))
            case ToolResultMessage() as result:
                body = lone_result(result, self._painter)
            case BashExecution() as ran:
                body = self._command(ran)
            case CompactionSummaryMessage() as made:
                title = f"Compacted: {made.tokens_before:,} tokens became this summary"
                body = self._folded(title, readable_summary(made.summary), "summary")
                body = join((body, self._mixed(made.content or ())))
            case BranchSummaryMessage(summary=summary):
                title = "Summary of a branch that was left"
                body = self._folded(title, readable_summary(summary), "summary")
            case None if isinstance(node.entry, Custom) and cells_of(node.entry.data):
                body = _with_cells(node.entry.data, (), self._painter)
            case SystemMessage() | None:
                body = _data(node.entry)
        return body

    def _answer(self, number: int, answer: AssistantMessage) -> Html:
        parts = [
            self._block(number, position, block) for position, block in enumerate(answer.content)
        ]
        if end := answer.error_message or ENDS.get(answer.stop_reason):
            parts.append(tag("p", esc(end), class_="error"))
        return join(parts)

    def _block(self, number: int, position: int, block: Text | Thinking | ToolCall) -> Html:
        match block:
            case Text(text=text):
                return self._words(text)
            case Thinking(redacted=True):
                return tag("p", esc("Thinking that the provider keeps to itself."), class_="note")
            case Thinking(thinking=thought) if thought.strip():
                return self._folded("Thinking", thought, "thinking")
            case Thinking():
                return Html("")
            case ToolCall():
                results = map(self._result, self._results.get((number, position), ()))
                return tool_call(block, tuple(results), self._painter)

    def _result(self, number: int) -> Result:
        message = self._nodes[number].message
        assert isinstance(message, ToolResultMessage)
        return Result(node=number, message=message, shown=number in self._shown)

    def _command(self, ran: BashExecution) -> Html:
        notes = (
            f"exit code {ran.exit_code}" if ran.exit_code else "",
            "cancelled" if ran.cancelled else "",
            f"cut; all of it was in {ran.full_output_path}" if ran.full_output_path else "",
            "not shown to the model" if ran.exclude_from_context else "",
        )
        return join(
            (
                self._painter.block(ran.command, "bash", before="$ "),
                self._painter.block(strip_blank_lines(ran.output) or "(no output)"),
                tag("p", esc(", ".join(filter(None, notes))), class_="note"),
            )
        )

    def _folded(self, title: str, text: str, kind: str) -> Html:
        return tag("details", tag("summary", esc(title)), self._words(text), class_=kind)

    def _mixed(self, parts: Sequence[Text | Image]) -> Html:
        return join(
            self._words(part.text) if isinstance(part, Text) else image(part) for part in parts
        )

    def _words(self, text: str) -> Html:
        return tag("div", rich_text(strip_blank_lines(text), self._painter), class_="words")


def _way(sign: str, meaning: str, to: Sequence[int]) -> Html:
    """Render a button that goes to a node; disabled without one."""
    attributes: dict[str, Value] = {"data_go": to[0]} if to else {"disabled": True}
    return tag("button", esc(sign), type="button", aria_label=meaning, **attributes)


def _who(node: Node) -> str:
    """Return the author of a message, or the type of another entry."""
    match node.message:
        case AssistantMessage(provider=provider, model=model):
            return model_name(provider, model)
        case CustomMessage(custom_type=kind):
            return kind
        case None:
            return str(_plain(node.entry).get("type", "unknown"))
        case message:
            return SPEAKERS[type(message)]


def _when(timestamp: str) -> Html:
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

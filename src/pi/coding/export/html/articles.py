"""Entries as they stand in the page: one article each, asides included."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence

import msgspec

from pi.ai.messages import (
    AssistantMessage,
    Image,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    blocks,
)
from pi.ai.transcript import plain_text
from pi.coding.export.html.code import Painter
from pi.coding.export.html.markup import Html, esc, join, tag
from pi.coding.export.html.rich_text import rich_text
from pi.coding.export.html.tools import Result, content, image, lone_result, tool_call
from pi.coding.export.outline import Row
from pi.coding.export.totals import model_name
from pi.coding.export.transcript import Transcript, unpadded
from pi.coding.session.entries import (
    BranchSummary,
    Compaction,
    CustomMessageEntry,
    Entry,
    MessageEntry,
    UnknownEntry,
)
from pi.coding.session.messages import (
    BashExecution,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    SessionMessage,
)

_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)[\d:.]*Z")
_ENDS = {
    "aborted": "The answer was stopped.",
    "error": "The answer failed.",
    "length": "The answer was cut off at its longest.",
}
_OFF: dict[str, bool] = {"disabled": True}


class Articles:
    """Draws the nodes of a transcript; ``rows`` say where branches part."""

    def __init__(self, transcript: Transcript, rows: Mapping[int, Row], painter: Painter) -> None:
        self._nodes = transcript.nodes
        self._results = transcript.results
        self._rows = rows
        self._shown: Collection[int] = set(transcript.branch())
        self._painter = painter

    def all(self) -> Html:
        """Every node that is not drawn as a part of another one, in the order of the file."""
        numbers = range(len(self._nodes))
        return join(self.article(n) for n in numbers if self._nodes[n].call is None)

    def article(self, number: int) -> Html:
        """One node, hidden if it is not on the branch at which the session stands."""
        node = self._nodes[number]
        kind, who = _kind(node.entry)
        return tag(
            "article",
            tag(
                "header",
                tag("span", esc(who), class_="who"),
                _when(node.entry.timestamp),
                tag("span", esc(node.label), class_="label") if node.label else Html(""),
                self._switch(number),
            ),
            self._body(number, node.entry),
            id=f"n{number}",
            data_n=number,
            class_="aside" if node.aside else kind,
            hidden=number not in self._shown,
        )

    def _switch(self, number: int) -> Html:
        """Where branches part: which of them this is, and a way to its neighbours."""
        row = self._rows.get(number)
        if row is None or not row.siblings:
            return Html("")
        here = row.siblings.index(number)
        ways = (("‹", "Previous branch", here - 1), ("›", "Next branch", here + 1))
        back, forth = (
            tag(
                "button",
                esc(sign),
                type="button",
                aria_label=meaning,
                **({"data_go": row.siblings[to]} if 0 <= to < len(row.siblings) else _OFF),
            )
            for sign, meaning, to in ways
        )
        place = tag("span", esc(f"{here + 1}/{len(row.siblings)}"))
        return tag("nav", back, place, forth, class_="switch", aria_label="Branches")

    def _body(self, number: int, entry: Entry) -> Html:
        match entry:
            case MessageEntry(message=AssistantMessage() as answer):
                return self._answer(number, answer)
            case MessageEntry(message=message):
                return self._message(message)
            case Compaction():
                title = f"Compacted: {entry.tokens_before:,} tokens became this summary"
                return self._summary(title, entry.summary, entry.content or ())
            case BranchSummary():
                return self._summary("Summary of a branch that was left", entry.summary)
            case CustomMessageEntry():
                return self._mixed(blocks(entry.content))
            case _:
                return _data(entry)

    def _answer(self, number: int, answer: AssistantMessage) -> Html:
        parts = [
            self._block(number, position, block) for position, block in enumerate(answer.content)
        ]
        if answer.error_message:
            parts.append(tag("p", esc(answer.error_message), class_="error"))
        elif answer.stop_reason in ("aborted", "error", "length"):
            parts.append(tag("p", esc(_ENDS[answer.stop_reason]), class_="error"))
        return join(parts)

    def _block(self, number: int, position: int, block: Text | Thinking | ToolCall) -> Html:
        match block:
            case Text(text=text):
                return self._words(text)
            case Thinking(redacted=True):
                return tag("p", esc("Thinking that the provider keeps to itself."), class_="note")
            case Thinking(thinking=thought):
                return self._folded("Thinking", thought, "thinking") if thought else Html("")
            case ToolCall():
                results = self._results.get((number, position), ())
                return tool_call(block, [self._result(n) for n in results], self._painter)

    def _result(self, number: int) -> Result:
        entry = self._nodes[number].entry
        assert isinstance(entry, MessageEntry)
        assert isinstance(entry.message, ToolResultMessage)
        return Result(node=number, message=entry.message, shown=number in self._shown)

    def _message(self, message: SessionMessage) -> Html:
        match message:
            case UserMessage(content=said) | CustomMessage(content=said):
                return self._mixed(blocks(said))
            case ToolResultMessage():
                return lone_result(message, self._painter)
            case BashExecution():
                return self._command(message)
            case CompactionSummaryMessage():
                title = f"Compacted: {message.tokens_before:,} tokens became this summary"
                return self._summary(title, message.summary, message.content or ())
            case BranchSummaryMessage():
                return self._summary("Summary of a branch that was left", message.summary)
            case SystemMessage():
                return _data(message)
            case AssistantMessage():
                raise AssertionError("answers are drawn with their place in the tree")

    def _command(self, ran: BashExecution) -> Html:
        output = unpadded(ran.output) or "(no output)"
        notes = [
            f"exit code {ran.exit_code}" if ran.exit_code else "",
            "cancelled" if ran.cancelled else "",
            f"cut; all of it was in {ran.full_output_path}" if ran.full_output_path else "",
            "not shown to the model" if ran.exclude_from_context else "",
        ]
        return join(
            (
                self._painter.block(f"$ {ran.command}", "console"),
                self._painter.block(output),
                tag("p", esc(", ".join(filter(None, notes))), class_="note"),
            )
        )

    def _summary(self, title: str, text: str, more: Sequence[Text | Image] = ()) -> Html:
        return join((self._folded(title, text, "summary"), content(more, self._painter)))

    def _folded(self, title: str, text: str, kind: str) -> Html:
        return tag("details", tag("summary", esc(title)), self._words(text), class_=kind)

    def _mixed(self, parts: Sequence[Text | Image]) -> Html:
        return join(
            self._words(part.text) if isinstance(part, Text) else image(part) for part in parts
        )

    def _words(self, text: str) -> Html:
        return tag("div", rich_text(unpadded(text), self._painter), class_="words")


def _kind(entry: Entry) -> tuple[str, str]:
    """The class of an entry's article, and who speaks."""
    match entry:
        case MessageEntry(message=AssistantMessage() as answer):
            return "assistant", model_name(answer.provider, answer.model)
        case MessageEntry(message=UserMessage()):
            return "user", "You"
        case MessageEntry(message=BashExecution()):
            return "bash", "You ran"
        case MessageEntry(message=ToolResultMessage()):
            return "lone-result", "Tool"
        case MessageEntry(message=CustomMessage(custom_type=kind)):
            return "custom", kind
        case CustomMessageEntry(custom_type=kind):
            return "custom", kind
        case Compaction() | MessageEntry(message=CompactionSummaryMessage()):
            return "divider", "Compaction"
        case BranchSummary() | MessageEntry(message=BranchSummaryMessage()):
            return "divider", "Branch"
        case MessageEntry():
            return "aside", "System prompt"
        case UnknownEntry(data=data):
            return "aside", str(data.get("type", "unknown"))
        case _:
            return "aside", str(entry.__struct_config__.tag)


def _when(timestamp: str) -> Html:
    """The time in UTC, to the minute; nothing if it is not one."""
    parts = _TIME.fullmatch(timestamp)
    return tag("time", esc(f"{parts[1]} {parts[2]}"), datetime=timestamp) if parts else Html("")


def _data(record: Entry | SystemMessage) -> Html:
    """What has no form of its own, as JSON."""
    value = record.data if isinstance(record, UnknownEntry) else msgspec.to_builtins(record)
    return tag("pre", esc(json.dumps(value, indent=2, ensure_ascii=False)), class_="data")

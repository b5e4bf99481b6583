"""The tree of a session without what nobody looks for: rows to choose a place from."""

from __future__ import annotations

from collections.abc import Sequence

from pi.ai.messages import (
    AssistantMessage,
    Image,
    SystemMessage,
    Text,
    ToolResultMessage,
    UserMessage,
    blocks,
)
from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.coding.export.tool_titles import subject
from pi.coding.export.transcript import ROOT, Node, Transcript, shortened
from pi.coding.session.entries import BranchSummary, Compaction, CustomMessageEntry, MessageEntry
from pi.coding.session.messages import (
    BashExecution,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    SessionMessage,
)

LONGEST_ROW = 100


class Row(Record):
    """A place in the conversation."""

    node: int
    depth: int
    """How many forks are above it."""
    siblings: tuple[int, ...]
    """The nodes among which one chooses here, itself included; empty where there is no fork."""
    kind: str
    text: str


def outline(transcript: Transcript) -> dict[int, Row]:
    """A row for every node that is drawn by itself, by its number, in the order of a tree.

    A subtree comes directly after its root, subtrees in the order of the file.
    """
    nodes = transcript.nodes
    above = _rows_above(nodes)
    below: dict[int, list[int]] = {ROOT: []}
    for number in above:
        below[number] = []
        below[above[number]].append(number)
    rows: dict[int, Row] = {}
    waiting = [(ROOT, 0)]
    while waiting:
        number, depth = waiting.pop()
        if number != ROOT:
            rows[number] = _row(number, nodes[number], depth, below[above[number]])
        forks = len(below[number]) > 1
        waiting.extend((child, depth + forks) for child in reversed(below[number]))
    return rows


def _rows_above(nodes: Sequence[Node]) -> dict[int, int]:
    """For every node that has a row, the nearest one above it that has one too."""
    nearest: list[int] = []
    for node in nodes:
        parent = node.parent
        passed_over = parent != ROOT and not _has_row(nodes[parent])
        nearest.append(nearest[parent] if passed_over else parent)
    return {number: nearest[number] for number, node in enumerate(nodes) if _has_row(node)}


def _has_row(node: Node) -> bool:
    return not node.aside and node.call is None


def _row(number: int, node: Node, depth: int, siblings: Sequence[int]) -> Row:
    kind, text = _described(node)
    return Row(
        node=number,
        depth=depth,
        siblings=tuple(siblings) if len(siblings) > 1 else (),
        kind=kind,
        text=shortened(one_line(text), LONGEST_ROW),
    )


def _described(node: Node) -> tuple[str, str]:
    """What kind of place a node is, and how it begins."""
    match node.entry:
        case MessageEntry(message=message):
            return _described_message(message)
        case Compaction(summary=summary):
            return "compaction", summary
        case BranchSummary(summary=summary):
            return "branch", summary
        case CustomMessageEntry(custom_type=kind, content=content):
            return "custom", f"[{kind}] {_words(content)}"
        case _:
            return "aside", ""


def _described_message(message: SessionMessage) -> tuple[str, str]:
    match message:
        case UserMessage(content=content):
            return "user", _words(content)
        case AssistantMessage():
            return "assistant", message.text or message.error_message or _calls(message)
        case ToolResultMessage():
            return "tool", f"{message.tool_name} {message.text}"
        case BashExecution(command=command):
            return "bash", f"$ {command}"
        case CustomMessage(custom_type=kind, content=content):
            return "custom", f"[{kind}] {_words(content)}"
        case CompactionSummaryMessage(summary=summary):
            return "compaction", summary
        case BranchSummaryMessage(summary=summary):
            return "branch", summary
        case SystemMessage():
            return "aside", "system prompt"


def _words(content: str | tuple[Text | Image, ...]) -> str:
    return " ".join(part.text if isinstance(part, Text) else "[image]" for part in blocks(content))


def _calls(answer: AssistantMessage) -> str:
    return ", ".join(f"{call.name} {subject(call)}".rstrip() for call in answer.tool_calls)

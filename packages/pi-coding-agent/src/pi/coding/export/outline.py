"""The outline of a session: rows of its tree, and the subjects and changes of tool calls."""

from __future__ import annotations

from collections.abc import Sequence

from pi.agent.compaction.text import readable_summary
from pi.ai.messages import AssistantMessage, SystemMessage, ToolCall, ToolResultMessage, UserMessage
from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.coding.export.transcript import ROOT, Node, Transcript, content_text, truncate_text
from pi.coding.session.entries import (
    BashExecution,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    SessionMessage,
)

SUBJECT_ARGUMENTS = ("command", "path", "file_path", "pattern", "query", "url", "name", "prompt")
"""Arguments that describe a call, the most descriptive first."""
MAX_SUBJECT = 160


def subject(call: ToolCall) -> str:
    """Return the most descriptive argument of a call on one line; empty if there is none."""
    for name in SUBJECT_ARGUMENTS:
        value = call.arguments.get(name)
        if isinstance(value, str) and value.strip():
            return truncate_text(one_line(value) + _line_range(call), MAX_SUBJECT)
    return ""


def text_argument(call: ToolCall, *names: str) -> str:
    """Return the first of the arguments that is a text; empty if none is."""
    for name in names:
        if isinstance(value := call.arguments.get(name), str):
            return value
    return ""


def changes(result: ToolResultMessage) -> str:
    """Return the diff of a result, with signs and line numbers; empty if there is none."""
    diff = result.details.get("diff") if isinstance(result.details, dict) else None
    return diff if isinstance(diff, str) else ""


def _line_range(call: ToolCall) -> str:
    """Return the line range of a call, such as ``:10-19``."""
    first, count = call.arguments.get("offset"), call.arguments.get("limit")
    if not isinstance(first, int) and not isinstance(count, int):
        return ""
    begin = first if isinstance(first, int) else 1
    return f":{begin}-{begin + count - 1}" if isinstance(count, int) else f":{begin}"


MAX_ROW = 100


class OutlineRow(Record):
    """A row for a node of the conversation."""

    node: int
    depth: int
    """Number of forks above it."""
    siblings: tuple[int, ...]
    """The nodes of the fork, including ``node``; empty without a fork."""
    kind: str
    text: str


def build_outline(transcript: Transcript) -> dict[int, OutlineRow]:
    """Return a row for every node that is rendered separately, by number, in tree order.

    A subtree comes directly after its root, subtrees in file order.
    """
    nodes = transcript.nodes
    above = _rows_above(nodes)
    below: dict[int, list[int]] = {ROOT: []}
    for number in above:
        below[number] = []
        below[above[number]].append(number)
    rows: dict[int, OutlineRow] = {}
    waiting = [(ROOT, 0)]
    while waiting:
        number, depth = waiting.pop()
        if number != ROOT:
            rows[number] = _make_row(number, nodes[number], depth, below[above[number]])
        forks = len(below[number]) > 1
        waiting.extend((child, depth + forks) for child in reversed(below[number]))
    return rows


def _rows_above(nodes: Sequence[Node]) -> dict[int, int]:
    """Return the nearest ancestor with a row for every node that has a row."""
    nearest: list[int] = []
    for node in nodes:
        parent = node.parent
        passed_over = parent != ROOT and not _has_row(nodes[parent])
        nearest.append(nearest[parent] if passed_over else parent)
    return {number: nearest[number] for number, node in enumerate(nodes) if _has_row(node)}


def _has_row(node: Node) -> bool:
    return not node.aside and node.call is None


def _make_row(number: int, node: Node, depth: int, siblings: Sequence[int]) -> OutlineRow:
    kind, text = _describe(node.message)
    return OutlineRow(
        node=number,
        depth=depth,
        siblings=tuple(siblings) if len(siblings) > 1 else (),
        kind=kind,
        text=truncate_text(one_line(text), MAX_ROW),
    )


def _describe(message: SessionMessage | None) -> tuple[str, str]:
    """Return the kind of a row and its text."""
    match message:
        case UserMessage(content=content):
            described = "user", content_text(content)
        case AssistantMessage():
            described = (
                "assistant",
                message.text or message.error_message or _describe_calls(message),
            )
        case BashExecution(command=command):
            described = "bash", f"$ {command}"
        case ToolResultMessage():
            described = "tool", f"{message.tool_name} {message.text}"
        case CustomMessage(custom_type=kind, content=content):
            described = "custom", f"[{kind}] {content_text(content)}"
        case CompactionSummaryMessage(tokens_before=tokens):
            described = "divider", f"Compacted: {tokens:,} tokens"
        case BranchSummaryMessage(summary=summary):
            described = "divider", f"Left a branch: {readable_summary(summary)}"
        case SystemMessage() | None:
            described = "aside", ""
    return described


def _describe_calls(answer: AssistantMessage) -> str:
    return ", ".join(f"{call.name} {subject(call)}".rstrip() for call in answer.tool_calls)

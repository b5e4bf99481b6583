"""The tree of a session as a person or a program looks at it.

A conversation is a chain as long as it lasted, so nothing here recurses.
"""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType, field

from pi.ai.messages import (
    AssistantMessage,
    Image,
    Text,
    ToolResultMessage,
    Usage,
    UserMessage,
    blocks,
)
from pi.base.json_lines import encode_line
from pi.base.records import Record
from pi.coding.session.entries import (
    BranchSummary,
    Compaction,
    CustomMessage,
    CustomMessageEntry,
    Entry,
    MessageEntry,
    UsageEntry,
)
from pi.coding.session.log import SessionLog


class TreeNode(Struct, eq=False):
    """An entry and what follows it."""

    id: str
    place: int
    label: str | None = None
    label_timestamp: str | None = None
    children: list[TreeNode] = field(default_factory=list)


def session_tree(log: SessionLog) -> list[TreeNode]:
    """The roots, usually one; children are in the order of the file."""
    nodes = [_node(log, place) for place in range(len(log.tree))]
    roots: list[TreeNode] = []
    for node in nodes:
        parent = log.tree.parent(node.place)
        (roots if parent is None else nodes[parent].children).append(node)
    return roots


def tree_json(log: SessionLog) -> bytes:
    """The roots as a JSON array, each ``{entry, children, label?, labelTimestamp?}``."""
    parts: list[bytes] = []
    waiting: list[TreeNode | bytes] = [b"]", *_separated(session_tree(log)), b"["]
    while waiting:
        match waiting.pop():
            case bytes(text):
                parts.append(text)
            case TreeNode() as node:
                parts.append(b'{"entry":' + _json(log.json(node.place)) + b',"children":[')
                waiting += [_ending(node), *_separated(node.children)]
    return b"".join(parts)


def _node(log: SessionLog, place: int) -> TreeNode:
    id = log.tree.outlines[place].id
    if (bookmark := log.labels.get(id)) is None:
        return TreeNode(id, place)
    return TreeNode(id, place, bookmark.label, bookmark.timestamp)


def _separated(nodes: list[TreeNode]) -> list[TreeNode | bytes]:
    """The nodes with commas between them, the first one last: the order of a stack."""
    stacked: list[TreeNode | bytes] = []
    for node in reversed(nodes):
        stacked += [node, b","]
    return stacked[:-1]


def _ending(node: TreeNode) -> bytes:
    if node.label is None:
        return b"]}"
    label, timestamp = _json(node.label), _json(node.label_timestamp)
    return b'],"label":' + label + b',"labelTimestamp":' + timestamp + b"}"


def _json(value: object) -> bytes:
    return encode_line(value).removesuffix(b"\n")


# Where going to another entry of the tree leads, to go on from there. Nothing is moved.


class Landing(Record):
    """Where the leaf is after going to an entry."""

    leaf_id: str | None
    text: str | None = None
    """What was said there, to be said differently; ``None`` if nothing was."""


def landing(log: SessionLog, id: str) -> Landing:
    """Where going to an entry leads: to say something again, one goes before it."""
    text = spoken_text(log.entry(id))
    if text is None:
        return Landing(leaf_id=id)
    before = log.tree.parent(log.tree.place(id))
    return Landing(leaf_id=None if before is None else log.tree.outlines[before].id, text=text)


def spoken_text(entry: Entry) -> str | None:
    """The words of a user's or an extension's message; ``None`` for any other entry."""
    match entry:
        case MessageEntry(message=UserMessage(content=content) | CustomMessage(content=content)):
            return _words(content)
        case CustomMessageEntry(content=content):
            return _words(content)
        case _:
            return None


def _words(content: str | tuple[Text | Image, ...]) -> str:
    return "\n".join(block.text for block in blocks(content) if isinstance(block, Text))


# A session in numbers, in the JSON names of RPC.


class TokenTotals(Record):
    """Tokens of everything that was ever asked in a session."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    total: int = 0


class ContextUsage(Record):
    """How full the window is; unknown after a compaction until the next answer."""

    tokens: int | None
    context_window: int
    percent: float | None


class SessionStats(Record):
    """Counts and cost of the whole file: every branch, and what was compacted away."""

    session_file: str | UnsetType = UNSET
    session_id: str
    user_messages: int
    assistant_messages: int
    tool_calls: int
    tool_results: int
    total_messages: int
    tokens: TokenTotals
    cost: float
    context_usage: ContextUsage | UnsetType = UNSET


def usage_of(entry: Entry) -> Usage | None:
    """What an entry has cost, if a model was asked for it."""
    match entry:
        case (
            MessageEntry(
                message=AssistantMessage(usage=Usage() as usage)
                | ToolResultMessage(usage=Usage() as usage)
            )
            | Compaction(usage=Usage() as usage)
            | BranchSummary(usage=Usage() as usage)
            | UsageEntry(usage=usage)
        ):
            return usage
        case _:
            return None

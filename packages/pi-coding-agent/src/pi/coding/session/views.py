"""Views of a session: tree nodes, landing points, statistics.

Nothing here recurses, because a conversation can be a chain of any length.
"""

from __future__ import annotations

from msgspec import Struct, field

from pi.ai.messages import (
    Image,
    Text,
    UserMessage,
    blocks,
)
from pi.base.json_lines import encode_line
from pi.base.records import Record
from pi.coding.session.entries import (
    CustomMessage,
    CustomMessageEntry,
    Entry,
    MessageEntry,
)
from pi.coding.session.log import SessionLog


class TreeNode(Struct, eq=False):
    """An entry and its children."""

    id: str
    place: int
    label: str | None = None
    label_timestamp: str | None = None
    children: list[TreeNode] = field(default_factory=list)


def session_tree(log: SessionLog) -> list[TreeNode]:
    """Return the roots, usually one; children are in file order."""
    nodes = [_make_node(log, position) for position in range(len(log.tree.outlines))]
    roots: list[TreeNode] = []
    for node in nodes:
        parent = log.tree.parent(node.place)
        (roots if parent is None else nodes[parent].children).append(node)
    return roots


def tree_json(log: SessionLog) -> bytes:
    """Return the roots as a JSON array, each ``{entry, children, label?, labelTimestamp?}``."""
    parts: list[bytes] = []
    waiting: list[TreeNode | bytes] = [b"]", *_with_commas(session_tree(log)), b"["]
    while waiting:
        match waiting.pop():
            case bytes(text):
                parts.append(text)
            case TreeNode() as node:
                parts.append(b'{"entry":' + public_line(log, node.place) + b',"children":[')
                waiting += [_node_end(node), *_with_commas(node.children)]
    return b"".join(parts)


def public_line(log: SessionLog, position: int) -> bytes:
    """Return an entry as it is in the file, for clients; a compaction loses its pictures.

    They are megabytes of base64 that only the model needs.
    """
    if log.tree.outlines[position].type != "compaction":
        return log.line(position).removesuffix(b"\n")
    entry = log.json(position)
    content = entry.get("content")
    if not isinstance(content, list):
        return log.line(position).removesuffix(b"\n")
    texts = [part for part in content if isinstance(part, dict) and part.get("type") != "image"]
    return _encode_json({**entry, "content": texts})


def _make_node(log: SessionLog, position: int) -> TreeNode:
    id = log.tree.outlines[position].id
    if (bookmark := log.labels.get(id)) is None:
        return TreeNode(id, position)
    return TreeNode(id, position, bookmark.label, bookmark.timestamp)


def _with_commas(nodes: list[TreeNode]) -> list[TreeNode | bytes]:
    """Return the nodes with commas between them, in stack order (first one last)."""
    stacked: list[TreeNode | bytes] = []
    for node in reversed(nodes):
        stacked += [node, b","]
    return stacked[:-1]


def _node_end(node: TreeNode) -> bytes:
    if node.label is None:
        return b"]}"
    label, timestamp = _encode_json(node.label), _encode_json(node.label_timestamp)
    return b'],"label":' + label + b',"labelTimestamp":' + timestamp + b"}"


def _encode_json(value: object) -> bytes:
    return encode_line(value).removesuffix(b"\n")


class Landing(Record):
    """Position of the leaf after moving to an entry."""

    leaf_id: str | None
    text: str | None = None
    """The text to edit there; ``None`` if there is none."""


def landing(log: SessionLog, id: str) -> Landing:
    """Return the leaf after moving to an entry.

    For a user's or an extension's message that is the entry before it, so that its text can be
    edited.
    """
    text = input_text(log.entry(id))
    if text is None:
        return Landing(leaf_id=id)
    before = log.tree.parent(log.tree.place(id))
    return Landing(leaf_id=None if before is None else log.tree.outlines[before].id, text=text)


def input_text(entry: Entry) -> str | None:
    """Return the text of a user's or an extension's message; ``None`` for other entries."""
    match entry:
        case MessageEntry(message=UserMessage(content=content) | CustomMessage(content=content)):
            return _content_text(content)
        case CustomMessageEntry(content=content):
            return _content_text(content)
        case _:
            return None


def _content_text(content: str | tuple[Text | Image, ...]) -> str:
    return "\n".join(block.text for block in blocks(content) if isinstance(block, Text))

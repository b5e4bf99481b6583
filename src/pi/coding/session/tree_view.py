"""The tree of a session as a person or a program looks at it.

A conversation is a chain as long as it lasted, so nothing here recurses.
"""

from __future__ import annotations

from msgspec import Struct, field

from pi.base.json_lines import encode_line
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

"""The entries of a session as nodes in file order. Pure and without recursion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from pi.ai.messages import (
    AssistantMessage,
    ToolCall,
)
from pi.coding.port.session import SessionPort
from pi.coding.session.entries import (
    Entry,
    MessageEntry,
)
from pi.coding.session.log import decode_entry
from pi.coding.session.reading import read_outline
from pi.coding.session.views import TreeNode
from pi.modes.interactive.dialogs.tree.descriptions import Description, describe

# Tree ---------------------------------------------------------------------------------------------

ROOT = -1
"""The parent of a root node."""


@dataclass(frozen=True, slots=True)
class Node:
    """An entry with its position in the tree."""

    id: str
    parent: int
    description: Description
    timestamp: str = ""
    label: str = ""
    label_timestamp: str = ""


@dataclass(frozen=True, slots=True)
class Tree:
    """All nodes, by number; children are ordered by time."""

    nodes: tuple[Node, ...]
    leaf: int = ROOT
    """The node of the current position; ``ROOT`` before the first entry."""

    def path(self) -> frozenset[int]:
        """The nodes from the leaf up to its root: the active branch."""
        ancestors, number = set(), self.leaf
        while number != ROOT:
            ancestors.add(number)
            number = self.nodes[number].parent
        return frozenset(ancestors)

    def index_of(self, id: str | None) -> int:
        """Return the number of an entry; ``ROOT`` if it is not in the tree."""
        numbers = (number for number, node in enumerate(self.nodes) if node.id == id)
        return next(numbers, ROOT)


def read_tree(port: SessionPort) -> Tree:
    """Return the current tree of a session."""
    entries = [decode_raw(raw) for raw in port.info.entries()]
    parents, labels = _parents_and_labels(port.info.tree(), len(entries))
    nodes = tuple(
        Node(
            id=entry.id,
            parent=parents[number],
            description=description,
            timestamp=entry.timestamp,
            label=labels[number][0] if number in labels else "",
            label_timestamp=labels[number][1] if number in labels else "",
        )
        for number, (entry, description) in enumerate(
            zip(entries, _describe_all(entries), strict=True)
        )
    )
    tree = Tree(nodes)
    return Tree(nodes, leaf=tree.index_of(port.entries.log.leaf_id))


def decode_raw(raw: msgspec.Raw) -> Entry:
    """Decode an entry."""
    line = bytes(raw)
    outline = read_outline(line)
    assert outline is not None, "the log holds entries only"
    return decode_entry(line, outline)


def _parents_and_labels(
    roots: Iterable[TreeNode], count: int
) -> tuple[list[int], dict[int, tuple[str, str]]]:
    """Return the parent of every entry, and the labels."""
    parents, labels = [ROOT] * count, {}
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        if node.label:
            labels[node.place] = (node.label, node.label_timestamp or "")
        for child in node.children:
            parents[child.place] = node.place
        waiting += node.children
    return parents, labels


def _describe_all(entries: Iterable[Entry]) -> Iterator[Description]:
    """Describe each entry; a result belongs to the last call with its id before it.

    Some servers restart the numbering of calls with every answer.
    """
    calls: dict[str, ToolCall] = {}
    for entry in entries:
        match entry:
            case MessageEntry(message=AssistantMessage(tool_calls=new_calls)):
                calls |= {call.id: call for call in new_calls}
        yield describe(entry, calls)

"""The entries of a session as nodes in the order of the file. Pure; nothing here recurses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from pi.ai.messages import AssistantMessage, ToolCall
from pi.coding.runtime.port_parts import FactsPort
from pi.coding.session.entries import Entry, MessageEntry
from pi.coding.session.reading import decode_entry, outline
from pi.coding.session.tree_view import TreeNode
from pi.modes.interactive.dialogs.tree.describing import Description, describe

ROOT = -1
"""The parent of a node that has none."""


@dataclass(frozen=True, slots=True)
class Node:
    """An entry in its place."""

    id: str
    parent: int
    said: Description
    timestamp: str = ""
    label: str = ""
    label_timestamp: str = ""


@dataclass(frozen=True, slots=True)
class Tree:
    """All nodes, by number; children come in the order of their time."""

    nodes: tuple[Node, ...]
    leaf: int = ROOT
    """The node at which the session stands; none at its very beginning."""

    def path(self) -> frozenset[int]:
        """The nodes from the leaf up to its root: the active branch."""
        found, place = set(), self.leaf
        while place != ROOT:
            found.add(place)
            place = self.nodes[place].parent
        return frozenset(found)

    def place(self, id: str | None) -> int:
        """The number of an entry; ``ROOT`` if it is not there."""
        found = (place for place, node in enumerate(self.nodes) if node.id == id)
        return next(found, ROOT)


def read_tree(facts: FactsPort) -> Tree:
    """The tree of a session as it is now."""
    entries = [decoded(raw) for raw in facts.entries()]
    parents, labels = _walked(facts.tree(), len(entries))
    nodes = tuple(
        Node(
            id=entry.id,
            parent=parents[place],
            said=said,
            timestamp=entry.timestamp,
            label=labels[place][0] if place in labels else "",
            label_timestamp=labels[place][1] if place in labels else "",
        )
        for place, (entry, said) in enumerate(zip(entries, _described(entries), strict=True))
    )
    tree = Tree(nodes)
    return Tree(nodes, leaf=tree.place(facts.leaf_id))


def decoded(raw: msgspec.Raw) -> Entry:
    """An entry as the file has it, as a record."""
    line = bytes(raw)
    known = outline(line)
    assert known is not None, "the log holds entries only"
    return decode_entry(line, known)


def _walked(roots: Iterable[TreeNode], count: int) -> tuple[list[int], dict[int, tuple[str, str]]]:
    """The parent of every entry, and the labels of those that have one."""
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


def _described(entries: Iterable[Entry]) -> Iterator[Description]:
    """What each entry is called; a result belongs to the last call with its id before it.

    Some servers count the calls of every answer anew.
    """
    calls: dict[str, ToolCall] = {}
    for entry in entries:
        match entry:
            case MessageEntry(message=AssistantMessage(tool_calls=asked)):
                calls |= {call.id: call for call in asked}
        yield describe(entry, calls)

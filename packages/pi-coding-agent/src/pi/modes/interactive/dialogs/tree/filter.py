"""Filters of the tree: which nodes are listed. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from pi.modes.interactive.dialogs.tree.nodes import Node, Tree

Mode: TypeAlias = Literal["default", "no-tools", "user-only", "labeled-only", "all"]
MODES: tuple[Mode, ...] = get_args(Mode)


def listed_nodes(tree: Tree, mode: Mode, query: str = "") -> list[bool]:
    """Return for every node whether it is listed: by the mode and all words of the query."""
    terms = query.lower().split()
    return [
        _fits(node, mode, is_leaf=number == tree.leaf) and (not terms or _has(node, terms))
        for number, node in enumerate(tree.nodes)
    ]


def next_mode(mode: Mode, step: int) -> Mode:
    """Return the next or previous mode, cyclically."""
    return MODES[(MODES.index(mode) + step) % len(MODES)]


def _fits(node: Node, mode: Mode, *, is_leaf: bool) -> bool:
    match mode:
        case "all":
            return True
        case "labeled-only":
            return bool(node.label)
        case "user-only":
            return node.description.kind == "user"
        case "default" | "no-tools":
            # An answer that only calls tools adds nothing to their results below it.
            hidden = {"bookkeeping"} | (set() if is_leaf else {"tools only"})
            if mode == "no-tools":
                hidden.add("tool")
            return node.description.kind not in hidden


def _has(node: Node, terms: list[str]) -> bool:
    text = f"{node.label} {node.description.role} {node.description.words}".lower()
    return all(word in text for word in terms)

"""Which entries are listed. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from pi.modes.interactive.dialogs.tree.nodes import Node, Tree

Mode: TypeAlias = Literal["default", "no-tools", "user-only", "labeled-only", "all"]
MODES: tuple[Mode, ...] = get_args(Mode)


def shown(tree: Tree, mode: Mode, query: str = "") -> list[bool]:
    """For every node, whether it is listed: in this mode, and with all words of the query."""
    words = query.lower().split()
    return [
        _fits(node, mode, is_leaf=place == tree.leaf) and (not words or _has(node, words))
        for place, node in enumerate(tree.nodes)
    ]


def next_mode(mode: Mode, step: int) -> Mode:
    """The mode after this one, or before it; round in circles."""
    return MODES[(MODES.index(mode) + step) % len(MODES)]


def _fits(node: Node, mode: Mode, *, is_leaf: bool) -> bool:
    match mode:
        case "all":
            return True
        case "labeled-only":
            return bool(node.label)
        case "user-only":
            return node.said.kind == "user"
        case "default" | "no-tools":
            # An answer that only calls tools adds nothing to their results below it.
            hidden = {"bookkeeping"} | (set() if is_leaf else {"tools only"})
            if mode == "no-tools":
                hidden.add("tool")
            return node.said.kind not in hidden


def _has(node: Node, words: list[str]) -> bool:
    text = f"{node.label} {node.said.role} {node.said.words}".lower()
    return all(word in text for word in words)

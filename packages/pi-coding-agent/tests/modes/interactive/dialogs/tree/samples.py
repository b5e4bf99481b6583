"""Trees to look at."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from pi.modes.interactive.dialogs.tree.descriptions import Description, Kind
from pi.modes.interactive.dialogs.tree.nodes import ROOT, Node, Tree

KINDS: tuple[Kind, ...] = ("user", "assistant", "tool", "tools only", "other", "bookkeeping")


def node(name: str, parent: int, kind: Kind = "user", **more: Any) -> Node:
    """A node whose text is its name."""
    description = Description(kind=kind, role=kind, text=name, words=name)
    return Node(
        id=name, parent=parent, description=description, timestamp=more.pop("timestamp", ""), **more
    )


def tree(*rows: tuple[str, int], leaf: int = ROOT) -> Tree:
    """Nodes from ``(name, parent)``; the first letter of a name shows its kind."""
    letters: dict[str, Kind] = {kind[0]: kind for kind in KINDS}
    letters |= {"t": "tool", "c": "tools only"}
    return Tree(tuple(node(n, p, letters.get(n[0], "user")) for n, p in rows), leaf)


@st.composite
def trees(draw: st.DrawFn, most: int = 25) -> Tree:
    """Any tree, also with several roots; parents come before or after their children."""
    count = draw(st.integers(0, most))
    order = draw(st.permutations(range(count)))
    parents = [ROOT] * count
    for position, number in enumerate(order):
        if position:
            parents[number] = draw(st.sampled_from([ROOT, *order[:position]]))
    nodes = tuple(
        node(
            f"n{number}",
            parents[number],
            draw(st.sampled_from(KINDS)),
            timestamp=str(draw(st.integers(0, 3))),
            label=draw(st.sampled_from(["", "", "mark"])),
        )
        for number in range(count)
    )
    return Tree(nodes, leaf=draw(st.integers(-1, count - 1)))

"""The listed nodes as rows with branches. Pure and without recursion."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pi.modes.interactive.dialogs.tree.nodes import ROOT, Tree

BRANCH, LAST, PASSING, NOTHING = "├─ ", "└─ ", "│  ", "   "
STEP = len(BRANCH)
"""Columns of indentation of a branch."""


@dataclass(frozen=True, slots=True)
class Row:
    """A listed entry."""

    place: int
    """The number of its node."""
    lines: str
    """The connectors before it."""
    starts_branch: bool
    """Whether it has siblings, or is a root: such rows can be folded."""
    hidden: int = 0
    """How many listed entries are folded below it."""


def lay_out(tree: Tree, listed: Sequence[bool], folded: Collection[int] = ()) -> list[Row]:
    """Return the rows from top to bottom."""
    children = listed_children(tree, listed)
    rows: list[Row] = []
    waiting = _as_stack(children.get(ROOT, []), "", are_roots=True)
    while waiting:
        number, lines, below, starts = waiting.pop()
        following = children.get(number, [])
        is_folded = number in folded and bool(following)
        hidden = _count_descendants(children, number) if is_folded else 0
        rows.append(Row(number, lines, starts, hidden))
        if not is_folded:
            waiting += _as_stack(following, below)
    return rows


def listed_children(tree: Tree, listed: Sequence[bool]) -> dict[int, list[int]]:
    """Return the children of every listed node, and of ``ROOT``: older ones first."""
    above = _nearest_listed(tree, listed)
    children: dict[int, list[int]] = {}
    for number, is_shown in enumerate(listed):
        if is_shown:
            children.setdefault(above[number], []).append(number)
    for siblings in children.values():
        siblings.sort(key=lambda number: tree.nodes[number].timestamp)
    return children


def _nearest_listed(tree: Tree, listed: Sequence[bool]) -> list[int]:
    """Return for every node its nearest listed ancestor.

    Nodes may precede their parents in the file, so unknown ancestors are resolved on the way.
    """
    unknown = -2
    above = [unknown] * len(tree.nodes)
    for number in range(len(tree.nodes)):
        walked, ancestor = [], number
        while above[ancestor] == unknown:
            walked.append(ancestor)
            parent = tree.nodes[ancestor].parent
            if parent == ROOT or listed[parent]:
                above[ancestor] = parent
            else:
                ancestor = parent
        for descendant in walked:
            above[descendant] = above[ancestor]
    return above


_Waiting = tuple[int, str, str, bool]
"""A node, its connectors, those of its children, and whether it starts a branch."""


def _as_stack(siblings: Sequence[int], before: str, *, are_roots: bool = False) -> list[_Waiting]:
    """Return the siblings as a stack: the first one last."""
    if len(siblings) == 1:
        return [(siblings[0], before, before, are_roots)]
    last = len(siblings) - 1
    return [
        (
            number,
            before + (LAST if position == last else BRANCH),
            before + (NOTHING if position == last else PASSING),
            True,
        )
        for position, number in reversed(list(enumerate(siblings)))
    ]


def _count_descendants(children: dict[int, list[int]], number: int) -> int:
    count, waiting = 0, [number]
    while waiting:
        following = children.get(waiting.pop(), [])
        count += len(following)
        waiting += following
    return count

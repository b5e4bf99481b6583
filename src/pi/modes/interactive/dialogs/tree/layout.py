"""How listed entries hang together: the lines before each of them. Pure; nothing here recurses.

A conversation is a long chain, so an entry that alone follows another stands right below it. Only
where a branch begins are its entries moved to the right. Entries that are not listed leave no gap:
what follows them hangs on the nearest listed entry above.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pi.modes.interactive.dialogs.tree.nodes import ROOT, Tree

BRANCH, LAST, PASSING, NOTHING = "├─ ", "└─ ", "│  ", "   "
STEP = len(BRANCH)
"""Columns by which a branch is moved to the right."""


@dataclass(frozen=True, slots=True)
class Row:
    """A listed entry."""

    place: int
    """The number of its node."""
    lines: str
    """What is drawn before it."""
    starts_branch: bool
    """Whether it has siblings, or is a root: such rows can be folded."""
    hidden: int = 0
    """How many listed entries are folded away below it."""


def lay_out(tree: Tree, shown: Sequence[bool], folded: Collection[int] = ()) -> list[Row]:
    """The rows from top to bottom."""
    children = listed_children(tree, shown)
    rows: list[Row] = []
    waiting = _opened(children.get(ROOT, []), "", are_roots=True)
    while waiting:
        place, lines, below, starts = waiting.pop()
        following = children.get(place, [])
        is_folded = place in folded and bool(following)
        hidden = _count(children, place) if is_folded else 0
        rows.append(Row(place, lines, starts, hidden))
        if not is_folded:
            waiting += _opened(following, below)
    return rows


def listed_children(tree: Tree, shown: Sequence[bool]) -> dict[int, list[int]]:
    """What hangs on every listed node, and on ``ROOT``: older ones first."""
    above = _nearest_listed(tree, shown)
    children: dict[int, list[int]] = {}
    for place, is_shown in enumerate(shown):
        if is_shown:
            children.setdefault(above[place], []).append(place)
    for siblings in children.values():
        siblings.sort(key=lambda place: tree.nodes[place].timestamp)
    return children


def _nearest_listed(tree: Tree, shown: Sequence[bool]) -> list[int]:
    """For every node the nearest node above it that is listed.

    Nodes may come before their parents in the file, so what is not known yet is walked to.
    """
    unknown = -2
    above = [unknown] * len(tree.nodes)
    for place in range(len(tree.nodes)):
        walked, at = [], place
        while above[at] == unknown:
            walked.append(at)
            parent = tree.nodes[at].parent
            if parent == ROOT or shown[parent]:
                above[at] = parent
            else:
                at = parent
        for each in walked:
            above[each] = above[at]
    return above


_Waiting = tuple[int, str, str, bool]
"""A node, the lines before it, those before what hangs on it, and whether it starts a branch."""


def _opened(siblings: Sequence[int], before: str, *, are_roots: bool = False) -> list[_Waiting]:
    """The siblings as a stack: the first one last."""
    if len(siblings) == 1:
        return [(siblings[0], before, before, are_roots)]
    last = len(siblings) - 1
    return [
        (
            place,
            before + (LAST if at == last else BRANCH),
            before + (NOTHING if at == last else PASSING),
            True,
        )
        for at, place in reversed(list(enumerate(siblings)))
    ]


def _count(children: dict[int, list[int]], place: int) -> int:
    count, waiting = 0, [place]
    while waiting:
        following = children.get(waiting.pop(), [])
        count += len(following)
        waiting += following
    return count

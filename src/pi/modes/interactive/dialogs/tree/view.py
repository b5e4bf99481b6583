"""What is listed of a tree, and where the selection is. Pure state; it draws nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from pi.modes.interactive.dialogs.tree.nodes import ROOT, Node, Tree

# Which entries are listed. Pure.


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


# How listed entries hang together: the lines before each of them. Pure; nothing here recurses.
#
# A conversation is a long chain, so an entry that alone follows another stands right below it.
# Only where a branch begins are its entries moved to the right. Entries that are not listed leave
# no gap: what follows them hangs on the nearest listed entry above.


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


class TreeView:
    """A tree seen through a filter and a search, with branches folded.

    The selection stays on its entry, or goes to the nearest entry above it that is listed.
    """

    def __init__(self, tree: Tree, mode: Mode = "default") -> None:
        self.tree = tree
        self.mode: Mode = mode
        self.query = ""
        self.index = 0
        """The selected row."""
        self._folded: set[int] = set()
        self.rows: list[Row] = []
        self._path = tree.path()
        self._list(tree.leaf)

    @property
    def selected(self) -> Node | None:
        """The selected entry; none in an empty list."""
        return self.tree.nodes[self.rows[self.index].place] if self.rows else None

    def is_active(self, place: int) -> bool:
        """Whether a node is on the branch on which the session stands."""
        return place in self._path

    def replace(self, tree: Tree) -> None:
        """Show the tree as it has become; the selection stays on its entry."""
        selected = self.selected
        self.tree, self._path = tree, tree.path()
        self._list(tree.place(selected.id if selected else None))

    def move(self, step: int) -> None:
        """Go up or down, round in circles."""
        if self.rows:
            self.index = (self.index + step) % len(self.rows)

    def jump(self, step: int) -> None:
        """Go up or down by many rows, and no further than the ends."""
        self.index = max(0, min(self.index + step, len(self.rows) - 1))

    def search(self, query: str) -> None:
        """List what has all words of the query."""
        self.query = query
        self._list(self._selected_place)

    def filter(self, mode: Mode) -> None:
        """List by another filter."""
        self.mode = mode
        self._list(self._selected_place)

    def cycle_filter(self, step: int) -> None:
        """List by the filter after or before this one."""
        self.filter(next_mode(self.mode, step))

    def fold_or_up(self) -> None:
        """Fold the branch that begins at the selected row, or go to where its branch begins."""
        if not self.rows:
            return
        row = self.rows[self.index]
        if row.starts_branch and not row.hidden and self._has_below(self.index):
            self._folded.add(row.place)
            self._list(row.place)
            return
        self._seek(-1)

    def unfold_or_down(self) -> None:
        """Unfold the selected row, or go to where the next branch begins."""
        if not self.rows:
            return
        row = self.rows[self.index]
        if row.hidden:
            self._folded.discard(row.place)
            self._list(row.place)
            return
        self._seek(1)

    @property
    def _selected_place(self) -> int:
        return self.rows[self.index].place if self.rows else self.tree.leaf

    def _list(self, place: int) -> None:
        listed = shown(self.tree, self.mode, self.query)
        # What is searched for must be seen, folded or not.
        self.rows = lay_out(self.tree, listed, () if self.query else self._folded)
        self._go_to(place)

    def _go_to(self, place: int) -> None:
        places = {row.place: index for index, row in enumerate(self.rows)}
        while place != ROOT and place not in places:
            place = self.tree.nodes[place].parent
        self.index = places.get(place, max(len(self.rows) - 1, 0))

    def _has_below(self, index: int) -> bool:
        """Whether rows hang on this one: the next row is neither a sibling nor further left."""
        if index + 1 >= len(self.rows):
            return False
        here, after = self.rows[index], self.rows[index + 1]
        return len(after.lines) > len(here.lines) or not after.starts_branch

    def _seek(self, step: int) -> None:
        index = self.index + step
        while 0 <= index < len(self.rows) and not self.rows[index].starts_branch:
            index += step
        self.index = max(0, min(index, len(self.rows) - 1))

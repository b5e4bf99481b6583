"""The visible rows of a tree, and the selection. Pure state without drawing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from pi.modes.interactive.dialogs.tree.nodes import ROOT, Node, Tree

# Filter -------------------------------------------------------------------------------------------


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


# Layout -------------------------------------------------------------------------------------------
#
# The connectors before each listed entry. A conversation is a long chain, so a single child is
# placed right below its parent; only siblings are indented. Entries that are not listed leave no
# gap: their children are attached to the nearest listed ancestor.


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


# View ---------------------------------------------------------------------------------------------


class TreeView:
    """A tree with a filter, a search and folded branches.

    The selection stays on its entry, or moves to the nearest listed ancestor.
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
        """The selected entry; ``None`` in an empty list."""
        return self.tree.nodes[self.rows[self.index].place] if self.rows else None

    def is_active(self, number: int) -> bool:
        """Whether a node is on the active branch."""
        return number in self._path

    def replace(self, tree: Tree) -> None:
        """Update the tree; the selection stays on its entry."""
        selected = self.selected
        self.tree, self._path = tree, tree.path()
        self._list(tree.index_of(selected.id if selected else None))

    def move(self, step: int) -> None:
        """Move up or down, cyclically."""
        if self.rows:
            self.index = (self.index + step) % len(self.rows)

    def jump(self, step: int) -> None:
        """Move up or down by many rows, without wrapping."""
        self.index = max(0, min(self.index + step, len(self.rows) - 1))

    def search(self, query: str) -> None:
        """List the entries with all words of the query."""
        self.query = query
        self._list(self._selected_place)

    def filter(self, mode: Mode) -> None:
        """Set the filter."""
        self.mode = mode
        self._list(self._selected_place)

    def cycle_filter(self, step: int) -> None:
        """Select the next or previous filter."""
        self.filter(next_mode(self.mode, step))

    def fold_or_up(self) -> None:
        """Fold the branch that starts at the selected row, or go to the start of its branch."""
        if not self.rows:
            return
        row = self.rows[self.index]
        if row.starts_branch and not row.hidden and self._has_below(self.index):
            self._folded.add(row.place)
            self._list(row.place)
            return
        self._seek(-1)

    def unfold_or_down(self) -> None:
        """Unfolds the selected row, or goes to the start of the next branch."""
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

    def _list(self, number: int) -> None:
        listed = listed_nodes(self.tree, self.mode, self.query)
        # Matches must be visible, also in folded branches.
        self.rows = lay_out(self.tree, listed, () if self.query else self._folded)
        self._go_to(number)

    def _go_to(self, number: int) -> None:
        indexes = {row.place: index for index, row in enumerate(self.rows)}
        while number != ROOT and number not in indexes:
            number = self.tree.nodes[number].parent
        self.index = indexes.get(number, max(len(self.rows) - 1, 0))

    def _has_below(self, index: int) -> bool:
        """Whether the row has children: the next row is neither a sibling nor further left."""
        if index + 1 >= len(self.rows):
            return False
        row, after = self.rows[index], self.rows[index + 1]
        return len(after.lines) > len(row.lines) or not after.starts_branch

    def _seek(self, step: int) -> None:
        index = self.index + step
        while 0 <= index < len(self.rows) and not self.rows[index].starts_branch:
            index += step
        self.index = max(0, min(index, len(self.rows) - 1))

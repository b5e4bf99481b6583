"""The visible rows of a tree, and the selection. Pure state without drawing."""

from __future__ import annotations

from pi.modes.interactive.dialogs.tree.filter import Mode, listed_nodes, next_mode
from pi.modes.interactive.dialogs.tree.layout import Row, lay_out
from pi.modes.interactive.dialogs.tree.nodes import ROOT, Node, Tree

# Layout -------------------------------------------------------------------------------------------
#
# The connectors before each listed entry. A conversation is a long chain, so a single child is
# placed right below its parent; only siblings are indented. Entries that are not listed leave no
# gap: their children are attached to the nearest listed ancestor.


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

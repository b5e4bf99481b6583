"""What is listed of a tree, and where the selection is. Pure state; it draws nothing."""

from __future__ import annotations

from pi.modes.interactive.dialogs.tree.filters import Mode, next_mode, shown
from pi.modes.interactive.dialogs.tree.layout import Row, lay_out
from pi.modes.interactive.dialogs.tree.nodes import ROOT, Node, Tree


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

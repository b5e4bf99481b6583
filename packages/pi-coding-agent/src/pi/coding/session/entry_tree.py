"""The tree of the entries of a session."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, overload

from pi.coding.session.errors import EntryNotFound
from pi.coding.session.reading import Outline

if TYPE_CHECKING:  # most sessions are read in full
    from pi.coding.session.earlier import EarlierEntries, EarlierFacts

_NONE = -1
_EARLIER = -2
"""A parent that is an earlier entry, or missing."""


class _Links:
    """The entries that a tree has in memory: all from the position ``first`` on."""

    __slots__ = ("first", "outlines", "parents", "places")

    def __init__(
        self, first: int, outlines: list[Outline], places: dict[str, int], parents: array[int]
    ) -> None:
        self.first = first
        self.outlines = outlines
        self.places = places
        self.parents = parents


class EntryTree:
    """The tree of entries; it only grows.

    Entries are identified by position, the number of their line among the entries of the file. An
    entry with a missing parent is a root. A cycle of parents is cut at one of its entries, which
    becomes a root too: every walk ends, and every entry is reachable from a root.

    The ``earlier`` entries of a long file are read when a question cannot be answered without
    them; no answer depends on whether they have been read.
    """

    def __init__(
        self, outlines: Sequence[Outline] = (), earlier: EarlierEntries | None = None
    ) -> None:
        first = 0 if earlier is None else earlier.facts.count
        places = {outline.id: position for position, outline in enumerate(outlines, first)}
        missing = _NONE if earlier is None else _EARLIER
        position_of = places.get
        parents = array(
            "q",
            [
                position_of(outline.parent_id, missing) if outline.parent_id else _NONE
                for outline in outlines
            ],
        )
        self.earlier = earlier
        """The part of the file that was not read when the session was opened."""
        self._links = _Links(first, list(outlines), places, parents)
        self._lock = threading.Lock()
        self._children: dict[int, list[int]] | None = None
        self.is_in_order = True
        """Whether the parents of all entries of the file come before them."""
        if earlier is None:  # with earlier entries that is so: else the file is read in full
            self.is_in_order = _cut_cycles(parents)

    def __len__(self) -> int:
        links = self._links
        return links.first + len(links.outlines)

    def __contains__(self, id: object) -> bool:
        links = self._links
        if id in links.places:
            return True
        if not links.first or self.earlier is None or not self.earlier.may_contain(id):
            return False
        return id in self._load().places

    @property
    def outlines(self) -> Sequence[Outline]:
        """Outlines of all entries by position."""
        links = self._links
        return _Outlines(self) if links.first else links.outlines

    @property
    def first(self) -> int:
        """Position of the first entry in memory."""
        return self._links.first

    def outline(self, position: int) -> Outline:
        """Return the outline at a position."""
        links = self._links
        if position < links.first:
            links = self._load()
        return links.outlines[position - links.first]

    def last_in_memory(self, id: str) -> int:
        """Return the position of the last entry in memory with that id; -1 if there is none."""
        return self._links.places.get(id, _NONE)

    def place(self, id: str) -> int:
        """Return the position of an entry; raises ``EntryNotFound``."""
        position = self._links.places.get(id)
        if position is None and id in self:
            position = self._links.places.get(id)
        if position is None:
            raise EntryNotFound(id)
        return position

    def add(self, outline: Outline) -> int:
        """Append an entry to its parent, if that exists; returns its position."""
        parent_id = outline.parent_id or ""
        parent = self.place(parent_id) if parent_id in self else _NONE  # may read earlier entries
        with self._lock:
            links = self._links
            position = links.first + len(links.outlines)
            links.outlines.append(outline)
            links.parents.append(parent)
            links.places[outline.id] = position
            if self._children is not None:
                self._children.setdefault(parent, []).append(position)
        return position

    def parent(self, position: int) -> int | None:
        """Return the parent; ``None`` for a root."""
        links = self._links
        if position < links.first or links.parents[position - links.first] == _EARLIER:
            links = self._load()
        parent = links.parents[position - links.first]
        return None if parent == _NONE else parent

    def children(self, position: int | None) -> Sequence[int]:
        """Return the children of ``position`` in file order; the roots for ``None``."""
        if self._children is None:
            children: dict[int, list[int]] = {}
            for child, parent in enumerate(self._load().parents):
                children.setdefault(parent, []).append(child)
            self._children = children
        return self._children.get(_NONE if position is None else position, ())

    def siblings(self, position: int) -> Sequence[int]:
        """Return all entries with the same parent, including this one."""
        return self.children(self.parent(position))

    def upwards(self, leaf: int | None) -> Iterator[int]:
        """Iterate from ``leaf`` to its root; empty for ``None``."""
        position = _NONE if leaf is None else leaf
        while position != _NONE:
            links = self._links if position >= self._links.first else self._load()
            first, parents = links.first, links.parents
            while position >= first:
                yield position
                child, position = position, parents[position - first]
            if position == _EARLIER:
                position = _optional(self.parent(child))

    def upwards_in_memory(self, leaf: int | None) -> Iterator[int]:
        """Iterate from ``leaf`` upwards, like ``upwards``.

        Stops below an entry for which ``facts_above`` has what its branch consists of.
        """
        if self.earlier is None:
            yield from self.upwards(leaf)
            return
        for position in self.upwards(leaf):
            yield position
            if self.facts_above(position) is not None:
                return

    def facts_above(self, position: int) -> EarlierFacts | None:
        """Return what is known of the branch above an entry whose parent was not read.

        ``None`` if the parent is in memory, or nothing is known of its branch.
        """
        links = self._links
        if self.earlier is None or position < links.first:
            return None
        if links.parents[position - links.first] != _EARLIER:
            return None
        facts = self.earlier.facts
        is_above = links.outlines[position - links.first].parent_id == facts.above
        return facts if is_above else None

    def path(self, leaf: int | None) -> list[int]:
        """Return the path from the root to ``leaf``; empty for ``None``."""
        positions = list(self.upwards(leaf))
        positions.reverse()
        return positions

    def abandoned(self, old_leaf: int | None, new_leaf: int | None) -> list[int]:
        """Return the positions on the path to ``old_leaf`` but not to ``new_leaf``, in order."""
        shared = set(self.path(new_leaf))
        return [position for position in self.path(old_leaf) if position not in shared]

    def load(self) -> None:
        """Read the earlier entries. Later questions then need no file, except for their lines."""
        self._load()

    def _load(self) -> _Links:
        earlier = self.earlier
        if earlier is None or not self._links.first:
            return self._links
        outlines = earlier.load()
        with self._lock:
            links = self._links
            if not links.first:
                return links
            places = {outline.id: position for position, outline in enumerate(outlines)}
            places.update(links.places)
            position_of = places.get
            parents = array(
                "q", [position_of(outline.parent_id or "", _NONE) for outline in outlines]
            )
            parents.extend(
                position_of(outline.parent_id or "", _NONE) if parent == _EARLIER else parent
                for outline, parent in zip(links.outlines, links.parents, strict=True)
            )
            _cut_cycles(parents)
            self._children = None
            self._links = _Links(0, outlines + links.outlines, places, parents)
            return self._links


class _Outlines(Sequence[Outline]):
    """The outlines of a tree whose earlier entries have not been read."""

    __slots__ = ("_tree",)

    def __init__(self, tree: EntryTree) -> None:
        self._tree = tree

    def __len__(self) -> int:
        return len(self._tree)

    @overload
    def __getitem__(self, index: int) -> Outline: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Outline]: ...

    def __getitem__(self, index: int | slice) -> Outline | Sequence[Outline]:
        if isinstance(index, int) and index >= 0:
            return self._tree.outline(index)
        selection = range(len(self._tree))[index]
        if isinstance(selection, int):
            return self._tree.outline(selection)
        return [self._tree.outline(position) for position in selection]


def _optional(position: int | None) -> int:
    return _NONE if position is None else position


def _cut_cycles(parents: array[int]) -> bool:
    """Make one entry of every cycle a root. Nearly linear: visited walks are remembered.

    Returns whether there are no parents that come later.

    A cycle always contains an entry whose parent is itself or comes later in the file.
    """
    suspects = [position for position, parent in enumerate(parents) if parent >= position]
    suspect_parents = [parents[position] for position in suspects]
    for position in suspects:
        parents[position] = _NONE
    above: dict[int, int] = {}

    def root(position: int) -> int:
        path = []
        while (higher := above.get(position, parents[position])) != _NONE:
            path.append(position)
            position = higher
        above.update(dict.fromkeys(path, position))
        return position

    for position, parent in zip(suspects, suspect_parents, strict=True):
        if root(parent) != position:
            parents[position] = parent
    return not suspects

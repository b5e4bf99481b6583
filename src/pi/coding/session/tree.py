"""Which entry follows which.

Entries are known by their place, the number of their line among the entries of the file. An entry
whose parent is not there is a root. A circle of parents is cut at one of its entries, which becomes
a root too: every walk ends, and every entry is reached from some root.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

from pi.coding.session.errors import EntryNotFound
from pi.coding.session.reading import Outline

_NONE = -1


class EntryTree:
    """The tree of a session; it only grows."""

    def __init__(self, outlines: Sequence[Outline] = ()) -> None:
        self._outlines = list(outlines)
        self._places = {outline.id: place for place, outline in enumerate(outlines)}
        known = self._places.get
        self._parents = array("q", [known(each.parent_id or "", _NONE) for each in outlines])
        self._children: dict[int, list[int]] | None = None
        self._cut_circles()

    def __len__(self) -> int:
        return len(self._outlines)

    def __contains__(self, id: object) -> bool:
        return id in self._places

    @property
    def outlines(self) -> Sequence[Outline]:
        """What is known of every entry, by place."""
        return self._outlines

    def place(self, id: str) -> int:
        """Where the entry is; ``EntryNotFound`` if there is none."""
        try:
            return self._places[id]
        except KeyError:
            raise EntryNotFound(id) from None

    def add(self, outline: Outline) -> int:
        """Let an entry follow its parent, if that is there already; gives its place."""
        place = len(self._outlines)
        parent = self._places.get(outline.parent_id or "", _NONE)
        self._outlines.append(outline)
        self._parents.append(parent)
        self._places[outline.id] = place
        if self._children is not None:
            self._children.setdefault(parent, []).append(place)
        return place

    def parent(self, place: int) -> int | None:
        """The entry before; ``None`` for a root."""
        parent = self._parents[place]
        return None if parent == _NONE else parent

    def children(self, place: int | None) -> Sequence[int]:
        """The entries that follow ``place``, in the order of the file; the roots for ``None``."""
        if self._children is None:
            self._children = {}
            for child, parent in enumerate(self._parents):
                self._children.setdefault(parent, []).append(child)
        return self._children.get(_NONE if place is None else place, ())

    def siblings(self, place: int) -> Sequence[int]:
        """The entries that follow the same parent, with this one among them."""
        return self.children(self.parent(place))

    def upwards(self, leaf: int | None) -> Iterator[int]:
        """From ``leaf`` to its root; nothing for ``None``."""
        place = _NONE if leaf is None else leaf
        while place != _NONE:
            yield place
            place = self._parents[place]

    def path(self, leaf: int | None) -> list[int]:
        """From the root to ``leaf``; empty for ``None``."""
        places = list(self.upwards(leaf))
        places.reverse()
        return places

    def left_behind(self, old_leaf: int | None, new_leaf: int | None) -> list[int]:
        """What is on the path to ``old_leaf`` and not on the one to ``new_leaf``, in order."""
        shared = set(self.path(new_leaf))
        return [place for place in self.path(old_leaf) if place not in shared]

    def _cut_circles(self) -> None:
        """Make a root of one entry in every circle. Nearly linear: walks are remembered.

        A circle always goes through an entry whose parent is itself or comes later in the file.
        """
        suspects = [place for place, parent in enumerate(self._parents) if parent >= place]
        parents = [self._parents[place] for place in suspects]
        for place in suspects:
            self._parents[place] = _NONE
        above: dict[int, int] = {}

        def root(place: int) -> int:
            walked = []
            while (higher := above.get(place, self._parents[place])) != _NONE:
                walked.append(place)
                place = higher
            above.update(dict.fromkeys(walked, place))
            return place

        for place, parent in zip(suspects, parents, strict=True):
            if root(parent) != place:
                self._parents[place] = parent

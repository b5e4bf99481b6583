"""The one order of everything that extensions register."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from operator import attrgetter
from typing import Generic, Literal, TypeAlias, TypeVar

from pi.base.records import Record

T = TypeVar("T")

At: TypeAlias = Literal["first", "normal", "last"]
Rank: TypeAlias = Literal["bundled", "package", "user", "project", "explicit"]
"""Where an extension comes from; a later one wins when two use the same name."""

_PLACES: dict[At, int] = {"first": 0, "normal": 1, "last": 2}
RANKS: tuple[Rank, ...] = ("bundled", "package", "user", "project", "explicit")


class Owner(Record):
    """Whose a registration is, and where it stands among those of others."""

    name: str
    path: str
    rank: Rank = "user"
    number: int = 0
    """In the order of loading."""


class Row(Generic[T]):
    """Something that is registered."""

    __slots__ = ("owner", "place", "value")

    def __init__(self, place: tuple[int, int, int, int], value: T, owner: Owner) -> None:
        self.place = place
        self.value = value
        self.owner = owner


class Rows(Generic[T]):
    """By ``at``, then by rank, then as they were loaded, then as they were registered."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self._rows: list[Row[T]] = []
        self._numbers = count()
        self._changed = changed
        self._values: tuple[T, ...] | None = None

    def add(self, value: T, owner: Owner, at: At = "normal") -> Callable[[], None]:
        """Put ``value`` where it belongs; gives what takes it away again."""
        place = (_PLACES[at], RANKS.index(owner.rank), owner.number, next(self._numbers))
        row = Row(place, value, owner)
        insort(self._rows, row, key=attrgetter("place"))
        self._tell()

        def remove() -> None:
            self._rows = [other for other in self._rows if other is not row]
            self._tell()

        return remove

    @property
    def values(self) -> tuple[T, ...]:
        """Everything, in order."""
        if self._values is None:
            self._values = tuple(row.value for row in self._rows)
        return self._values

    def __iter__(self) -> Iterator[Row[T]]:
        return iter(tuple(self._rows))

    def __len__(self) -> int:
        return len(self._rows)

    def _tell(self) -> None:
        self._values = None
        self._changed()


class Names(Generic[T]):
    """Values by name: of several with one name the last in order counts."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self._rows: Rows[tuple[str, T]] = Rows(self._tell)
        self._changed = changed
        self._winners: dict[str, Row[tuple[str, T]]] | None = None

    def add(self, name: str, value: T, owner: Owner) -> Callable[[], None]:
        """Have ``value`` under ``name``; gives what takes it away again."""
        return self._rows.add((name, value), owner)

    def get(self, name: str) -> T | None:
        """What counts under ``name``."""
        row = self.winners().get(name)
        return None if row is None else row.value[1]

    def winners(self) -> Mapping[str, Row[tuple[str, T]]]:
        """What counts, by name, in the order in which names were first used."""
        if self._winners is None:
            self._winners = {row.value[0]: row for row in self._rows}
        return self._winners

    @property
    def values(self) -> dict[str, T]:
        """What counts, by name, without whose it is."""
        return {name: row.value[1] for name, row in self.winners().items()}

    def all(self) -> Iterator[Row[tuple[str, T]]]:
        """Everything that is registered, in order."""
        return iter(self._rows)

    def hidden(self) -> list[tuple[str, Owner, Owner]]:
        """Names that are used twice: the name, who has lost it, and to whom."""
        winners = self.winners()
        return [
            (row.value[0], row.owner, winners[row.value[0]].owner)
            for row in self._rows
            if winners[row.value[0]] is not row
        ]

    def _tell(self) -> None:
        self._winners = None
        self._changed()

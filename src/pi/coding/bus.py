"""Event bus of a session, and the ordered registries of extension contributions.

Publishers do not know their subscribers. An event is a record. A query is an event that takes
answers: handlers are called in order, each sees the answers so far, and the query decides how an
answer counts.
"""

from __future__ import annotations

import asyncio
import logging
from bisect import insort
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from itertools import count
from operator import attrgetter
from typing import Any, Generic, Literal, Self, TypeAlias, TypeVar

from pi.base.records import Record
from pi.base.tasks import maybe_await

log = logging.getLogger(__name__)


E = TypeVar("E", bound="Event")
Q = TypeVar("Q", bound="Query")

Handler: TypeAlias = Callable[[E], Awaitable[object] | object]
"""Takes the event; a return value other than ``None`` is an answer. Sync or async."""

Failed: TypeAlias = Callable[[str, "Event", Exception], None]
"""Called with owner, event and exception of a failed handler."""


class Event(Record):
    """Base of all events."""


class Query(Event):
    """An event that handlers may answer."""

    def with_answer(self, answer: Any) -> Self:
        """Return the query with ``answer`` applied."""
        raise TypeError(f"{type(self).__name__} takes no answers")

    def after_failure(self, error: Exception) -> Self:
        """Return the query after a handler failed; the default is unchanged."""
        return self

    @property
    def is_settled(self) -> bool:
        """Whether no more handlers need to be called."""
        return False


class Bus:
    """Dispatches the events of one session to subscribers."""

    def __init__(self, failed: Failed | None = None) -> None:
        self._failed = failed or _log_failure
        self._rows: dict[type[Event], list[tuple[str, Handler[Any]]]] = defaultdict(list)

    def subscribe(
        self, kind: type[E], handler: Handler[E], *, owner: str = "pi"
    ) -> Callable[[], None]:
        """Subscribe ``handler`` to events of ``kind``. Returns an unsubscribe function."""
        row, place = self._rows[kind], (owner, handler)
        row.append(place)

        def end() -> None:
            if place in row:
                row.remove(place)

        return end

    def has_subscribers(self, kind: type[Event]) -> bool:
        """Whether there are subscribers; lets publishers skip building an event."""
        return bool(self._rows.get(kind))

    async def emit(self, event: Event) -> None:
        """Dispatch ``event`` to all subscribers and wait for them."""
        for owner, handler in tuple(self._rows.get(type(event), ())):
            try:
                await maybe_await(handler(event))
            except Exception as error:
                self._failed(owner, event, error)

    async def query(self, question: Q) -> Q:
        """Return ``question`` with the answers of all subscribers, until it is settled."""
        for owner, handler in tuple(self._rows.get(type(question), ())):
            try:
                answer = await maybe_await(handler(question))
                if answer is not None:
                    question = question.with_answer(answer)
            except Exception as error:
                self._failed(owner, question, error)
                question = question.after_failure(error)
            if question.is_settled:
                break
        return question


def _log_failure(owner: str, event: Event, error: Exception) -> None:
    log.error("a handler of %s failed during %s", owner, type(event).__name__, exc_info=error)


T = TypeVar("T")

At: TypeAlias = Literal["first", "normal", "last"]
Rank: TypeAlias = Literal["bundled", "package", "user", "project", "explicit"]
"""Source of an extension; later ones win when two use the same name."""

_PLACES: dict[At, int] = {"first": 0, "normal": 1, "last": 2}
RANKS: tuple[Rank, ...] = ("bundled", "package", "user", "project", "explicit")


class Owner(Record):
    """The owner of a registration; determines its order."""

    name: str
    path: str
    rank: Rank = "user"
    number: int = 0
    """Load order."""


class Registered(Generic[T]):
    """A registered value with its owner."""

    __slots__ = ("owner", "place", "value")

    def __init__(self, place: tuple[int, int, int, int], value: T, owner: Owner) -> None:
        self.place = place
        self.value = value
        self.owner = owner


class OrderedList(Generic[T]):
    """Values ordered by ``at``, then rank, then load order, then registration."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self._rows: list[Registered[T]] = []
        self._numbers = count()
        self._changed = changed
        self._values: tuple[T, ...] | None = None

    def add(self, value: T, owner: Owner, at: At = "normal") -> Callable[[], None]:
        """Insert ``value`` in order. Returns a function that removes it."""
        place = (_PLACES[at], RANKS.index(owner.rank), owner.number, next(self._numbers))
        row = Registered(place, value, owner)
        insort(self._rows, row, key=attrgetter("place"))
        self._notify()

        def remove() -> None:
            self._rows = [other for other in self._rows if other is not row]
            self._notify()

        return remove

    @property
    def values(self) -> tuple[T, ...]:
        """All values in order."""
        if self._values is None:
            self._values = tuple(row.value for row in self._rows)
        return self._values

    def __iter__(self) -> Iterator[Registered[T]]:
        return iter(tuple(self._rows))

    def __len__(self) -> int:
        return len(self._rows)

    def _notify(self) -> None:
        self._values = None
        self._changed()


class NamedRegistry(Generic[T]):
    """Values by name; the last in order wins."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self._rows: OrderedList[tuple[str, T]] = OrderedList(self._notify)
        self._changed = changed
        self._winners: dict[str, Registered[tuple[str, T]]] | None = None

    def add(self, name: str, value: T, owner: Owner) -> Callable[[], None]:
        """Register ``value`` under ``name``. Returns a function that removes it."""
        return self._rows.add((name, value), owner)

    def get(self, name: str) -> T | None:
        """Return the winning value of ``name``."""
        row = self.winners().get(name)
        return None if row is None else row.value[1]

    def winners(self) -> Mapping[str, Registered[tuple[str, T]]]:
        """Return the winning registrations by name, in the order of first use."""
        if self._winners is None:
            self._winners = {row.value[0]: row for row in self._rows}
        return self._winners

    @property
    def values(self) -> dict[str, T]:
        """Return the winning values by name."""
        return {name: row.value[1] for name, row in self.winners().items()}

    def all(self) -> Iterator[Registered[tuple[str, T]]]:
        """Iterate over all registrations in order."""
        return iter(self._rows)

    def hidden(self) -> list[tuple[str, Owner, Owner]]:
        """Return names that are used twice: the name, the hidden owner, the winning owner."""
        winners = self.winners()
        return [
            (row.value[0], row.owner, winners[row.value[0]].owner)
            for row in self._rows
            if winners[row.value[0]] is not row
        ]

    def _notify(self) -> None:
        self._winners = None
        self._changed()


PASSED_ON = (KeyboardInterrupt, asyncio.CancelledError)
"""Exceptions that are not failures of the extension code during which they occur."""

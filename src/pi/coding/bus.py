"""Telling and asking without knowing who listens: publishers below, listeners above.

An event is a record. A question is an event that takes answers: handlers are asked in order, each
sees what the earlier ones made of it, and the question itself says how an answer counts.
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
"""Gets the event; what it gives other than ``None`` is an answer. Sync or async."""

Failed: TypeAlias = Callable[[str, "Event", Exception], None]
"""Told whose handler failed, at what, and why."""


class Event(Record):
    """Something that others may want to know."""


class Query(Event):
    """Something that others may decide or change."""

    def with_answer(self, answer: Any) -> Self:
        """The question as it stands after ``answer``, which a handler gave."""
        raise TypeError(f"{type(self).__name__} takes no answers")

    def after_failure(self, problem: Exception) -> Self:
        """The question as it stands after a handler that failed."""
        return self

    @property
    def is_settled(self) -> bool:
        """Whether nobody else needs to be asked."""
        return False


class Bus:
    """Who wants to hear what, in one session."""

    def __init__(self, failed: Failed | None = None) -> None:
        self._failed = failed or _log_failure
        self._rows: dict[type[Event], list[tuple[str, Handler[Any]]]] = defaultdict(list)

    def subscribe(
        self, kind: type[E], handler: Handler[E], *, owner: str = "pi"
    ) -> Callable[[], None]:
        """Have ``handler`` called with every event of that kind; gives what ends that."""
        row, place = self._rows[kind], (owner, handler)
        row.append(place)

        def end() -> None:
            if place in row:
                row.remove(place)

        return end

    def has_subscribers(self, kind: type[Event]) -> bool:
        """Whether anybody listens, so that nobody builds an event for nothing."""
        return bool(self._rows.get(kind))

    async def emit(self, event: Event) -> None:
        """Until everybody who listens has heard ``event``."""
        for owner, handler in tuple(self._rows.get(type(event), ())):
            try:
                await maybe_await(handler(event))
            except Exception as problem:
                self._failed(owner, event, problem)

    async def query(self, question: Q) -> Q:
        """``question`` with the answers of everybody who listens, until it is settled."""
        for owner, handler in tuple(self._rows.get(type(question), ())):
            try:
                answer = await maybe_await(handler(question))
                if answer is not None:
                    question = question.with_answer(answer)
            except Exception as problem:
                self._failed(owner, question, problem)
                question = question.after_failure(problem)
            if question.is_settled:
                break
        return question


def _log_failure(owner: str, event: Event, problem: Exception) -> None:
    log.error("a handler of %s failed at %s", owner, type(event).__name__, exc_info=problem)


# The one order of everything that extensions register.


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


class Registered(Generic[T]):
    """Something that is registered."""

    __slots__ = ("owner", "place", "value")

    def __init__(self, place: tuple[int, int, int, int], value: T, owner: Owner) -> None:
        self.place = place
        self.value = value
        self.owner = owner


class OrderedList(Generic[T]):
    """By ``at``, then by rank, then as they were loaded, then as they were registered."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self._rows: list[Registered[T]] = []
        self._numbers = count()
        self._changed = changed
        self._values: tuple[T, ...] | None = None

    def add(self, value: T, owner: Owner, at: At = "normal") -> Callable[[], None]:
        """Put ``value`` where it belongs; gives what takes it away again."""
        place = (_PLACES[at], RANKS.index(owner.rank), owner.number, next(self._numbers))
        row = Registered(place, value, owner)
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

    def __iter__(self) -> Iterator[Registered[T]]:
        return iter(tuple(self._rows))

    def __len__(self) -> int:
        return len(self._rows)

    def _tell(self) -> None:
        self._values = None
        self._changed()


class NamedRegistry(Generic[T]):
    """Values by name: of several with one name the last in order counts."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self._rows: OrderedList[tuple[str, T]] = OrderedList(self._tell)
        self._changed = changed
        self._winners: dict[str, Registered[tuple[str, T]]] | None = None

    def add(self, name: str, value: T, owner: Owner) -> Callable[[], None]:
        """Have ``value`` under ``name``; gives what takes it away again."""
        return self._rows.add((name, value), owner)

    def get(self, name: str) -> T | None:
        """What counts under ``name``."""
        row = self.winners().get(name)
        return None if row is None else row.value[1]

    def winners(self) -> Mapping[str, Registered[tuple[str, T]]]:
        """What counts, by name, in the order in which names were first used."""
        if self._winners is None:
            self._winners = {row.value[0]: row for row in self._rows}
        return self._winners

    @property
    def values(self) -> dict[str, T]:
        """What counts, by name, without whose it is."""
        return {name: row.value[1] for name, row in self.winners().items()}

    def all(self) -> Iterator[Registered[tuple[str, T]]]:
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


PASSED_ON = (KeyboardInterrupt, asyncio.CancelledError)
"""What may come from outside while code of an extension runs. Everything else is its failure."""

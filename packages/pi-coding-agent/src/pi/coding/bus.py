"""Event bus of a session, and the ordered registries of extension contributions.

Publishers do not know their subscribers, which get the published record itself. A query is an
event that handlers may answer: they are called in order, each gets the query with the answers so
far, and ``Query.with_answer`` defines the effect of an answer.
"""

from __future__ import annotations

import logging
from bisect import insort
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from functools import partial
from inspect import isawaitable
from itertools import count
from operator import attrgetter
from typing import Any, Generic, Literal, Self, TypeAlias, TypeVar

from pi.base.records import Record

log = logging.getLogger(__name__)


T = TypeVar("T")
Q = TypeVar("Q", bound="Query")

At: TypeAlias = Literal["first", "normal", "last"]
Rank: TypeAlias = Literal["core", "bundled", "package", "user", "project", "explicit"]
"""``core`` is pi itself, the others are sources of extensions. For the same name the later wins."""

_PLACES: dict[At, int] = {"first": 0, "normal": 1, "last": 2}
RANKS: tuple[Rank, ...] = ("core", "bundled", "package", "user", "project", "explicit")


class Owner(Record):
    """The owner of a registration; determines its order."""

    name: str
    path: str
    rank: Rank = "user"
    number: int = 0
    """Load order."""


CORE = Owner(name="pi", path="pi", rank="core")
"""Pi itself."""


class Registered(Generic[T]):
    """A registered value with its owner."""

    __slots__ = ("order", "owner", "value")

    def __init__(self, order: tuple[int, int, int, int], value: T, owner: Owner) -> None:
        self.order = order
        self.value = value
        self.owner = owner


class OrderedList(Generic[T]):
    """Values ordered by ``at``, then rank, then load order, then registration."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self._rows: list[Registered[T]] = []
        self._numbers = count()
        self._changed = changed
        self.rows: tuple[Registered[T], ...] = ()
        """All registrations in order."""
        self.values: tuple[T, ...] = ()
        """All values in order."""

    def add(self, value: T, owner: Owner, at: At = "normal") -> Callable[[], None]:
        """Insert ``value`` in order. Returns a function that removes it."""
        rank = RANKS.index(owner.rank)
        if at == "last" and owner.rank == "core":
            rank = len(RANKS)  # pi cleans up after extensions
        order = (_PLACES[at], rank, owner.number, next(self._numbers))
        row = Registered(order, value, owner)
        insort(self._rows, row, key=attrgetter("order"))
        self._notify()

        def remove() -> None:
            self._rows = [other for other in self._rows if other is not row]
            self._notify()

        return remove

    def __iter__(self) -> Iterator[Registered[T]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self._rows)

    def _notify(self) -> None:
        self.rows = tuple(self._rows)
        self.values = tuple(row.value for row in self._rows)
        self._changed()


class NamedRegistry(Generic[T]):
    """Values by name; the last in order wins."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self._rows: OrderedList[tuple[str, T]] = OrderedList(self._notify)
        self._changed = changed
        self.values: dict[str, T] = {}
        """The winning values by name."""
        self._winners: dict[str, Registered[tuple[str, T]]] | None = None

    def add(self, name: str, value: T, owner: Owner) -> Callable[[], None]:
        """Register ``value`` under ``name``. Returns a function that removes it."""
        return self._rows.add((name, value), owner)

    def add_all(self, values: Mapping[str, T], owner: Owner) -> Callable[[], None]:
        """Register several values. Returns a function that removes them together."""
        removals = [self.add(name, value, owner) for name, value in values.items()]

        def remove() -> None:
            for remove_value in removals:
                remove_value()

        return remove

    def get(self, name: str) -> T | None:
        """Return the winning value of ``name``; ``None`` if it is not registered."""
        return self.values.get(name)

    def winners(self) -> Mapping[str, Registered[tuple[str, T]]]:
        """Return the winning registrations by name, in the order of the first registrations."""
        if self._winners is None:
            self._winners = {row.value[0]: row for row in self._rows}
        return self._winners

    def all(self) -> Iterator[Registered[tuple[str, T]]]:
        """Iterate over all registrations in order."""
        return iter(self._rows)

    def hidden(self) -> list[tuple[str, Owner, Owner]]:
        """Return the overridden registrations: name, hidden owner, winning owner."""
        winners = self.winners()
        return [
            (row.value[0], row.owner, winners[row.value[0]].owner)
            for row in self._rows
            if winners[row.value[0]] is not row
        ]

    def _notify(self) -> None:
        self._winners = None
        self.values = dict(self._rows.values)
        self._changed()


class Event(Record):
    """Base of the events of a session."""


class Query(Event):
    """An event that handlers may answer."""

    def with_answer(self, answer: Any) -> Self:
        """Return the query with ``answer`` applied."""
        raise TypeError(f"{type(self).__name__} takes no answers")

    def after_failure(self, error: Exception) -> Self:
        """Return the query after a handler failed; unchanged by default."""
        return self

    @property
    def is_settled(self) -> bool:
        """Whether no more handlers need to be called."""
        return False


Subscriber: TypeAlias = Callable[[Any], Awaitable[object] | object]
"""Takes the event; a return value other than ``None`` is an answer. Sync or async."""

ReportEventFailure: TypeAlias = Callable[[Owner, Any, BaseException], None]
"""Called with the owner of a failed subscriber, the event, and the exception."""

Raises: TypeAlias = tuple[type[Exception], ...]


class EventBus:
    """Dispatches the events of one session to subscribers, one after the other.

    Order: ``at``, then rank, then load order, then registration. Pi's own subscribers come before
    those of extensions; with ``at="last"`` they come after them. A subscriber that fails is
    reported and does not affect the others. Subscribers that are added or removed during a dispatch
    count from the next one on.
    """

    def __init__(self, report_failure: ReportEventFailure | None = None) -> None:
        self.report_failure: ReportEventFailure = report_failure or log_failure
        self._rows: dict[type, OrderedList[Subscriber]] = {}
        self.subscribed: set[type] = set()
        """The event types that have subscribers; lets publishers skip building an event."""

    def subscribe(
        self, kind: type, call: Subscriber, *, owner: Owner = CORE, at: At = "normal"
    ) -> Callable[[], None]:
        """Subscribe ``call`` to events of ``kind``. Returns an unsubscribe function."""
        if kind not in self._rows:
            self._rows[kind] = OrderedList(partial(self._update, kind))
        return self._rows[kind].add(call, owner, at)

    def _update(self, kind: type) -> None:
        if self._rows[kind].rows:
            self.subscribed.add(kind)
        else:
            self.subscribed.discard(kind)

    def subscribers(self, kind: type) -> tuple[Registered[Subscriber], ...]:
        """Return the subscribers of ``kind`` in order."""
        rows = self._rows.get(kind)
        return rows.rows if rows else ()

    async def emit(self, event: object, *, raises: Raises = (), to: str = "") -> None:
        """Dispatch ``event`` to all subscribers and wait for them.

        Exceptions of the types ``raises`` are not failures; they propagate. With ``to``, only the
        subscribers of the owner with that path are called.
        """
        for row in self.subscribers(type(event)):
            if to and row.owner.path != to:
                continue
            try:
                result = row.value(event)
                if isawaitable(result):
                    await result
            except raises:
                raise
            except Exception as error:
                self.report_failure(row.owner, event, error)

    async def query(
        self, question: Q, *, ranks: Collection[Rank] = RANKS, raises: Raises = ()
    ) -> Q:
        """Return ``question`` with the answers of its subscribers.

        Only subscribers of ``ranks`` are called, in order, until the query is settled. Exceptions
        of the types ``raises`` propagate.
        """
        for row in self.subscribers(type(question)):
            if row.owner.rank not in ranks:
                continue
            try:
                answer = row.value(question)
                if isawaitable(answer):
                    answer = await answer
                if answer is not None:
                    question = question.with_answer(answer)
            except raises:
                raise
            except Exception as error:
                question = self._after_failure(question, row.owner, error)
            if question.is_settled:
                break
        return question

    def _after_failure(self, question: Q, owner: Owner, error: Exception) -> Q:
        """Return ``question`` after a failure; report the failure unless the query records it."""
        after = question.after_failure(error)
        if after is question:
            self.report_failure(owner, question, error)
        else:
            log.warning("%s failed", owner.path, exc_info=error)
        return after


def log_failure(owner: Owner, event: object, error: BaseException) -> None:
    """Write the failure of a subscriber to the log."""
    log.error("a handler of %s failed during %s", owner.name, type(event).__name__, exc_info=error)

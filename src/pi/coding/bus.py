"""Telling and asking without knowing who listens: publishers below, listeners above.

An event is a record. A question is an event that takes answers: handlers are asked in order, each
sees what the earlier ones made of it, and the question itself says how an answer counts.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any, Self, TypeAlias, TypeVar

from pi.base.records import Record
from pi.base.tasks import awaited

E = TypeVar("E", bound="Event")
Q = TypeVar("Q", bound="Question")

Handler: TypeAlias = Callable[[E], Awaitable[object] | object]
"""Gets the event; what it gives other than ``None`` is an answer. Sync or async."""

Failed: TypeAlias = Callable[[str, "Event", Exception], None]
"""Told whose handler failed, at what, and why."""

log = logging.getLogger(__name__)


class Event(Record):
    """Something that others may want to know."""


class Question(Event):
    """Something that others may decide or change."""

    def answered(self, answer: Any) -> Self:
        """The question as it stands after ``answer``, which a handler gave."""
        raise TypeError(f"{type(self).__name__} takes no answers")

    def after_failure(self, problem: Exception) -> Self:
        """The question as it stands after a handler that failed."""
        return self

    @property
    def settled(self) -> bool:
        """Whether nobody else needs to be asked."""
        return False


class Bus:
    """Who wants to hear what, in one session."""

    def __init__(self, failed: Failed | None = None) -> None:
        self._failed = failed or _log_failure
        self._rows: dict[type[Event], list[tuple[str, Handler[Any]]]] = defaultdict(list)

    def on(self, kind: type[E], handler: Handler[E], *, owner: str = "pi") -> Callable[[], None]:
        """Have ``handler`` called with every event of that kind; gives what ends that."""
        row, place = self._rows[kind], (owner, handler)
        row.append(place)

        def end() -> None:
            if place in row:
                row.remove(place)

        return end

    def heard(self, kind: type[Event]) -> bool:
        """Whether anybody listens, so that nobody builds an event for nothing."""
        return bool(self._rows.get(kind))

    async def tell(self, event: Event) -> None:
        """Until everybody who listens has heard ``event``."""
        for owner, handler in tuple(self._rows.get(type(event), ())):
            try:
                await awaited(handler(event))
            except Exception as problem:
                self._failed(owner, event, problem)

    async def ask(self, question: Q) -> Q:
        """``question`` with the answers of everybody who listens, until it is settled."""
        for owner, handler in tuple(self._rows.get(type(question), ())):
            try:
                answer = await awaited(handler(question))
                if answer is not None:
                    question = question.answered(answer)
            except Exception as problem:
                self._failed(owner, question, problem)
                question = question.after_failure(problem)
            if question.settled:
                break
        return question


def _log_failure(owner: str, event: Event, problem: Exception) -> None:
    log.error("a handler of %s failed at %s", owner, type(event).__name__, exc_info=problem)

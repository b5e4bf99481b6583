"""Work that several tasks want at the same time, and that is done once for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class _Flight(Generic[T]):
    def __init__(self, task: asyncio.Task[T]) -> None:
        self.task = task
        self.waiting = 0


class SingleFlight(Generic[T]):
    """At most one piece of work per key is under way; who comes meanwhile shares its outcome.

    Whoever is cancelled leaves at once. With the last one the work is cancelled too, and has ended
    when the cancellation arrives: nothing goes on behind anybody's back.
    """

    def __init__(self) -> None:
        self._flights: dict[Hashable, _Flight[T]] = {}

    async def run(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What ``work`` returns or raises, whether we started it or somebody else did."""
        flight = self._flights.get(key) or self._start(key, work)
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                await self._call_off(key, flight)

    def _start(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> _Flight[T]:
        task = asyncio.get_running_loop().create_task(work())
        flight = self._flights[key] = _Flight(task)
        task.add_done_callback(lambda _: self._landed(key, flight))
        return flight

    async def _call_off(self, key: Hashable, flight: _Flight[T]) -> None:
        self._landed(key, flight)  # who comes now starts afresh
        flight.task.cancel()
        await asyncio.wait({flight.task})

    def _landed(self, key: Hashable, flight: _Flight[T]) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
        if flight.task.done() and not flight.task.cancelled():
            flight.task.exception()  # seen, even if nobody waits for it any more

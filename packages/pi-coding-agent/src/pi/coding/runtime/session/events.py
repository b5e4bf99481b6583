"""Iterators over the events of a session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING, Self, TypeAlias
from weakref import finalize

from pi.agent.events import Listener

if TYPE_CHECKING:  # deferred: it imports the events of all parts
    from pi.coding.runtime.session.public_events import AgentSessionEvent

Subscribe: TypeAlias = Callable[[Listener], Callable[[], None]]


class EventFeed:
    """Iterates over all events from its creation until ``end``.

    A slow reader does not block the session: unread events are queued.
    """

    def __init__(self, subscribe: Subscribe) -> None:
        self._waiting: asyncio.Queue[AgentSessionEvent | None] = asyncio.Queue()
        self._unsubscribe = finalize(self, subscribe(self._waiting.put_nowait))

    def end(self) -> None:
        """End the iteration after the events so far."""
        self._unsubscribe()
        self._waiting.put_nowait(None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AgentSessionEvent:
        event = await self._waiting.get()
        if event is None:
            self._waiting.put_nowait(None)  # for further calls
            raise StopAsyncIteration
        return event


async def events_during(
    work: Callable[[], Awaitable[object]], watch: Callable[[], EventFeed]
) -> AsyncGenerator[AgentSessionEvent, None]:
    """Yield the events of a feed until ``work`` is done. Closing the iterator cancels the work."""
    feed = watch()

    async def do() -> None:
        try:
            await work()
        finally:
            feed.end()

    task = asyncio.create_task(do(), name="prompt")
    try:
        async for event in feed:
            yield event
        await task
    finally:
        task.cancel()
        await asyncio.wait({task})

"""Events as something to iterate over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Self, TypeAlias
from weakref import finalize

from pi.agent.events import AgentEvent, Listener
from pi.coding.compaction.events import CompactionEnd, CompactionStart
from pi.coding.extension_host.errors import ExtensionFailed
from pi.coding.extension_host.events.session import SessionInfoChanged, ThinkingLevelChanged
from pi.coding.retry import (
    AutoRetryEnd,
    AutoRetryStart,
    SummarizationRetryAttemptStart,
    SummarizationRetryFinished,
    SummarizationRetryScheduled,
)

AgentSessionEvent: TypeAlias = (
    AgentEvent
    | AutoRetryStart
    | AutoRetryEnd
    | CompactionStart
    | CompactionEnd
    | ExtensionFailed
    | SessionInfoChanged
    | SummarizationRetryScheduled
    | SummarizationRetryAttemptStart
    | SummarizationRetryFinished
    | ThinkingLevelChanged
)
"""Whatever a session tells: what its agent tells, and what happens around it."""

Subscribe: TypeAlias = Callable[[Listener], Callable[[], None]]


class EventFeed:
    """Every event from the moment on when this is made; ends with ``end``.

    A slow reader holds up nobody: what it has not read yet is kept for it, until it drops the feed.
    """

    def __init__(self, subscribe: Subscribe) -> None:
        self._waiting: asyncio.Queue[AgentSessionEvent | None] = asyncio.Queue()
        self._unsubscribe = finalize(self, subscribe(self._waiting.put_nowait))

    def end(self) -> None:
        """Nothing more follows what was told so far."""
        self._unsubscribe()
        self._waiting.put_nowait(None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AgentSessionEvent:
        event = await self._waiting.get()
        if event is None:
            self._waiting.put_nowait(None)  # for whoever asks again
            raise StopAsyncIteration
        return event


async def events_during(
    work: Callable[[], Awaitable[object]], watch: Callable[[], EventFeed]
) -> AsyncGenerator[AgentSessionEvent, None]:
    """What a feed brings until ``work`` is done; who stops reading ends the work."""
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

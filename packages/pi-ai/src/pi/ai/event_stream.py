"""EventStream: a response as an async iterator of events that never raises.

One task per stream reads from the provider and queues events; the consumer takes them without a
task switch per event. Failures are the last event. Cancelling the consumer closes the connection
and keeps the partial message.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from pi.ai.builder import MessageBuilder
from pi.ai.errors import BadAnswer, ProviderError
from pi.ai.events import StreamEvent
from pi.ai.messages import AssistantMessage, Usage

log = logging.getLogger(__name__)

Flush: TypeAlias = Callable[[], None]
"""Passes the builder's new events to the consumer."""

Answer: TypeAlias = Callable[[MessageBuilder, Flush], Awaitable[None]]
"""Fills the builder until its message is final; may raise ``ProviderError``."""


class EventStream:
    """The events of one response, and its message.

    The request is sent when the stream is first iterated or its ``result`` awaited. A consumer that
    stops iterating early calls ``aclose`` (``contextlib.aclosing`` does).
    """

    def __init__(self, builder: MessageBuilder, answer: Answer) -> None:
        self._builder = builder
        self._answer = answer
        self._ready: deque[StreamEvent] = deque()
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.usage = Usage()
        """The usage so far, with its price. A plain attribute: it is read for every delta."""
        self.on_end: Callable[[AssistantMessage], None] | None = None
        """Called once with the final message, also if the consumer was cancelled."""

    @property
    def partial(self) -> AssistantMessage:
        """The message so far, built when it is read; the final one once the stream has ended."""
        return self._builder.final or self._builder.message()

    @property
    def failure(self) -> ProviderError | None:
        """The typed error of a failed response."""
        return self._builder.failure

    def __aiter__(self) -> EventStream:
        return self

    async def __anext__(self) -> StreamEvent:
        while not self._ready:
            if self._builder.final is not None:
                raise StopAsyncIteration
            await self._wait_for_more()
        return self._ready.popleft()

    async def take(self) -> list[StreamEvent]:
        """Return the events since the last call, at least one; ``[]`` after the last event."""
        while not self._ready and self._builder.final is None:
            await self._wait_for_more()
        events = list(self._ready)
        self._ready.clear()
        return events

    async def result(self) -> AssistantMessage:
        """Return the final message; its ``stop_reason`` is ``error`` or ``aborted`` if it
        failed."""
        while self._builder.final is None:
            await self._wait_for_more()
        return self._builder.final

    def abort(self) -> None:
        """Stop now: the partial message is kept, and the last event says ``aborted``."""
        if self._task is None:
            self._builder.abort()
            self._notify()
            self._flush()
        else:
            self._task.cancel()

    async def aclose(self) -> None:
        """Abort and wait until the connection is closed."""
        self.abort()
        if self._task is not None:
            await asyncio.wait({self._task})

    async def _wait_for_more(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._produce(), name="answer")
            self._task.add_done_callback(self._ended)
        self._changed.clear()
        try:
            await self._changed.wait()
        except asyncio.CancelledError:
            await self.aclose()
            raise

    async def _produce(self) -> None:
        try:
            await self._answer(self._builder, self._flush)
            if self._builder.final is None:
                raise BadAnswer("The response ended without a final event.")
        except asyncio.CancelledError:
            self._builder.abort()  # the consumer re-raises its own cancellation
        except ProviderError as error:
            self._builder.fail(error)
        except Exception as bug:
            log.exception("reading the answer of %s failed", self._builder.model.id)
            self._builder.fail(ProviderError(f"pi could not read the answer: {bug!r}"))
        self._notify()
        self._flush()

    def _ended(self, _: asyncio.Task[None]) -> None:
        if self._builder.final is None:  # cancelled before its first step: no handler ran
            self._builder.abort()
            self._notify()
            self._flush()

    def _notify(self) -> None:
        on_end, self.on_end = self.on_end, None
        if on_end is not None and self._builder.final is not None:
            on_end(self._builder.final)

    def _flush(self) -> None:
        self._ready.extend(self._builder.take())
        self.usage = self._builder.priced_usage()
        self._changed.set()

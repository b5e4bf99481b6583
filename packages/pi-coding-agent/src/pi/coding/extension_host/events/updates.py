"""Dispatches token updates to handlers; merges them while a handler is busy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from inspect import iscoroutinefunction

from pi.ai.events import BlockEvent, TextDelta, ThinkingDelta, ToolCallDelta
from pi.ai.messages import AssistantMessage
from pi.base.tasks import maybe_await, propagated_exceptions
from pi.coding.bus import EventBus, Registered, Subscriber
from pi.coding.extension_host.events.handlers import HandlerCall
from pi.coding.extension_host.events.run import MessageUpdateEvent

Partial = Callable[[], AssistantMessage | None]
_DELTAS = (TextDelta, ThinkingDelta, ToolCallDelta)


def merge_update(events: list[BlockEvent], new: BlockEvent) -> None:
    """Append ``new``; consecutive deltas of one block are merged."""
    if events and isinstance(new, _DELTAS) and type(events[-1]) is type(new):
        last = events[-1]
        assert isinstance(last, _DELTAS)
        if last.content_index == new.content_index:
            events[-1] = type(new)(content_index=new.content_index, delta=last.delta + new.delta)
            return
    events.append(new)


class Mailbox:
    """Queue of updates for one async handler."""

    def __init__(self, row: Registered[Subscriber], bus: EventBus, partial: Partial) -> None:
        self._row = row
        self._bus = bus
        self._partial = partial
        self._waiting: list[BlockEvent] = []
        self._worker: asyncio.Task[None] | None = None

    def put(self, event: BlockEvent) -> None:
        """Queue ``event`` for the handler."""
        merge_update(self._waiting, event)
        if self._worker is None:
            self._worker = asyncio.get_running_loop().create_task(self._work(), name="updates")

    async def flushed(self) -> None:
        """Wait until the handler has processed all updates."""
        if self._worker is not None:
            await asyncio.wait({self._worker})

    def close(self) -> None:
        """Drop the queue and cancel the handler."""
        self._waiting.clear()
        if self._worker is not None:
            self._worker.cancel()

    async def _work(self) -> None:
        try:
            while self._waiting:
                event = MessageUpdateEvent(self._waiting.pop(0), self._partial)
                try:
                    await maybe_await(self._row.value(event))
                except Exception as error:
                    self._bus.report_failure(self._row.owner, event, error)
        finally:
            self._worker = None


class Updates:
    """Dispatches tokens to handlers; a slow handler never delays the answer."""

    def __init__(self, bus: EventBus, partial: Partial) -> None:
        self._bus = bus
        self._partial = partial
        self._boxes: dict[Registered[Subscriber], Mailbox] = {}

    def put(self, event: BlockEvent) -> None:
        """Dispatch ``event``: at once to functions, queued to coroutines."""
        update: MessageUpdateEvent | None = None
        for row in self._bus.subscribers(MessageUpdateEvent):
            call = row.value
            if not isinstance(call, HandlerCall) or iscoroutinefunction(call.handler):
                box = self._boxes.get(row)
                if box is None:
                    box = self._boxes[row] = Mailbox(row, self._bus, self._partial)
                box.put(event)
                continue
            update = update or MessageUpdateEvent(event, self._partial)
            try:
                call.handler(update, call.context)
            except propagated_exceptions():
                raise
            except BaseException as error:
                self._bus.report_failure(row.owner, update, error)

    async def flushed(self) -> None:
        """Wait until all handlers have processed all updates."""
        for box in [*self._boxes.values()]:
            await box.flushed()

    def close(self) -> None:
        """Drop all queues."""
        for box in self._boxes.values():
            box.close()
        self._boxes.clear()

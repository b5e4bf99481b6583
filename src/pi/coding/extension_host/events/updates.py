"""Tokens for handlers that take their time: merged while they work, never waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from inspect import iscoroutinefunction

from pi.ai.events import BlockEvent, TextDelta, ThinkingDelta, ToolCallDelta
from pi.ai.messages import AssistantMessage
from pi.coding.bus import PASSED_ON
from pi.coding.extension_host.events.handlers import Hook, Hooks
from pi.coding.extension_host.events.run import MessageUpdateEvent

Partial = Callable[[], AssistantMessage | None]
_DELTAS = (TextDelta, ThinkingDelta, ToolCallDelta)


def merge_update(events: list[BlockEvent], new: BlockEvent) -> None:
    """Add ``new``; deltas of one block that follow each other become one."""
    if events and isinstance(new, _DELTAS) and type(events[-1]) is type(new):
        last = events[-1]
        assert isinstance(last, _DELTAS)
        if last.content_index == new.content_index:
            events[-1] = type(new)(content_index=new.content_index, delta=last.delta + new.delta)
            return
    events.append(new)


class Mailbox:
    """What one handler has not seen yet."""

    def __init__(self, hook: Hook, hooks: Hooks, partial: Partial) -> None:
        self._hook = hook
        self._hooks = hooks
        self._partial = partial
        self._waiting: list[BlockEvent] = []
        self._worker: asyncio.Task[None] | None = None

    def put(self, event: BlockEvent) -> None:
        """Have the handler see ``event`` as soon as it has time."""
        merge_update(self._waiting, event)
        if self._worker is None:
            self._worker = asyncio.get_running_loop().create_task(self._work(), name="updates")

    async def flushed(self) -> None:
        """Until the handler has seen everything."""
        if self._worker is not None:
            await asyncio.wait({self._worker})

    def close(self) -> None:
        """Let the handler see nothing more."""
        self._waiting.clear()
        if self._worker is not None:
            self._worker.cancel()

    async def _work(self) -> None:
        try:
            while self._waiting:
                event = MessageUpdateEvent(self._waiting.pop(0), self._partial)
                try:
                    await self._hooks.call(self._hook, event)
                except Exception as problem:
                    self._hooks.failed(self._hook, event, problem)
        finally:
            self._worker = None


class Updates:
    """Shows every token to those who want to see it; slow ones never slow the answer."""

    def __init__(self, hooks: Hooks, partial: Partial) -> None:
        self._hooks = hooks
        self._partial = partial
        self._boxes: dict[Hook, Mailbox] = {}

    def put(self, event: BlockEvent) -> None:
        """Show ``event``: at once to functions, later to coroutines."""
        update: MessageUpdateEvent | None = None
        for hook in self._hooks.hooks(MessageUpdateEvent):
            if iscoroutinefunction(hook.call):
                box = self._boxes.get(hook)
                if box is None:
                    box = self._boxes[hook] = Mailbox(hook, self._hooks, self._partial)
                box.put(event)
                continue
            update = update or MessageUpdateEvent(event, self._partial)
            try:
                hook.call(update, hook.context)
            except PASSED_ON:
                raise
            except BaseException as problem:
                self._hooks.failed(hook, update, problem)

    async def flushed(self) -> None:
        """Until everybody has seen everything."""
        for box in [*self._boxes.values()]:
            await box.flushed()

    def close(self) -> None:
        """Show nothing more."""
        for box in self._boxes.values():
            box.close()
        self._boxes.clear()

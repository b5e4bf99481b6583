"""Agent event records, and the dispatcher that delivers them to subscribers in order.

The JSON form of each record is the one of JSON mode and RPC.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from pi.agent.tools.tool import ToolResult
from pi.ai.events import BlockEvent
from pi.ai.messages import AssistantMessage, Image, Json, Text, ToolResultMessage, Usage
from pi.base.records import Record

log = logging.getLogger(__name__)


class AgentStart(Record, tag="agent_start"):
    """A run begins."""


class AgentEnd(Record, tag="agent_end"):
    """A run ends; ``messages`` are those it added."""

    messages: tuple[Any, ...]
    will_retry: bool = False


class AgentSettled(Record, tag="agent_settled"):
    """The agent is idle."""


class TurnStart(Record, tag="turn_start"):
    """A turn begins: one request and its tool calls."""


class TurnEnd(Record, tag="turn_end"):
    """A turn ends."""

    message: AssistantMessage
    tool_results: tuple[ToolResultMessage, ...] = ()


class MessageStart(Record, tag="message_start"):
    """A message begins; a response is still empty."""

    message: Any


class MessageUpdate(
    Struct, frozen=True, kw_only=True, gc=False, rename="camel", tag="message_update"
):
    """A response has grown by ``assistant_message_event``.

    A plain ``Struct``, because one is made for every token and records are slower to create on
    Python 3.11.
    """

    usage: Usage
    assistant_message_event: BlockEvent


class MessageEnd(Record, tag="message_end"):
    """A message is complete and stored."""

    message: Any


class ToolOutput(Record, omit_defaults=True):
    """Tool output in an event; the event's own field says whether it failed."""

    content: tuple[Text | Image, ...]
    details: Any | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET
    terminate: bool = False

    @classmethod
    def of(cls, result: ToolResult) -> ToolOutput:
        """The public part of ``result``."""
        return cls(
            content=result.content,
            details=result.details,
            usage=result.usage,
            terminate=result.terminate,
        )


class ToolExecutionStart(Record, tag="tool_execution_start"):
    """A tool call is about to run."""

    tool_call_id: str
    tool_name: str
    args: Json


class ToolExecutionUpdate(Record, tag="tool_execution_update"):
    """Output of a running tool; replaces the previous output."""

    tool_call_id: str
    tool_name: str
    args: Json
    partial_result: ToolOutput


class ToolExecutionEnd(Record, tag="tool_execution_end"):
    """A tool call has ended."""

    tool_call_id: str
    tool_name: str
    result: ToolOutput
    is_error: bool


class QueueUpdate(Record, tag="queue_update"):
    """The queues have changed; contains both completely."""

    steering: tuple[str, ...] = ()
    follow_up: tuple[str, ...] = ()


class EntryAppended(Record, tag="entry_appended"):
    """An entry other than a message was stored."""

    entry: Json


AgentEvent: TypeAlias = (
    AgentStart
    | AgentEnd
    | AgentSettled
    | TurnStart
    | TurnEnd
    | MessageStart
    | MessageUpdate
    | MessageEnd
    | ToolExecutionStart
    | ToolExecutionUpdate
    | ToolExecutionEnd
    | QueueUpdate
    | EntryAppended
)

Emit: TypeAlias = Callable[[AgentEvent], Awaitable[None]]
"""Emits an event; returns when all subscribers have handled it."""


Listener: TypeAlias = Callable[[AgentEvent], Awaitable[None] | None]
"""Sync or async; exceptions are logged and do not affect other listeners."""


class _Subscription:
    """One subscription; ``listener`` is ``None`` after it has ended."""

    __slots__ = ("kinds", "listener", "updates")

    def __init__(self, listener: Listener, kinds: tuple[type, ...], *, updates: bool) -> None:
        self.listener: Listener | None = listener
        self.kinds = kinds
        self.updates = updates

    def wants(self, kind: type) -> bool:
        return kind in self.kinds if self.kinds else self.updates or kind is not MessageUpdate


class _Rows(dict[type, tuple[_Subscription, ...]]):
    """Subscriptions by type of event, each found once: an event is emitted for every token."""

    def __init__(self, every: tuple[_Subscription, ...]) -> None:
        super().__init__()
        self.every = every

    def __missing__(self, kind: type) -> tuple[_Subscription, ...]:
        self[kind] = row = tuple(each for each in self.every if each.wants(kind))
        return row


class EventDispatcher:
    """Delivers events to listeners one at a time, in the order of subscription."""

    def __init__(self) -> None:
        self._rows = _Rows(())
        self._untold: deque[AgentEvent] = deque()
        self._emitting = False

    def add(
        self, listener: Listener, *, updates: bool = True, kinds: tuple[type, ...] = ()
    ) -> Callable[[], None]:
        """Subscribe ``listener``; returns an unsubscribe function that takes effect at once.

        Without ``updates`` the listener does not get per-token events; with ``kinds`` it gets only
        events of these types.
        """
        subscription = _Subscription(listener, kinds, updates=updates)
        self._rows = _Rows((*self._rows.every, subscription))

        def end() -> None:
            subscription.listener = None  # also for the event being delivered
            others = (each for each in self._rows.every if each is not subscription)
            self._rows = _Rows(tuple(others))

        return end

    async def emit(self, event: AgentEvent) -> None:
        """Deliver ``event`` and any events emitted by listeners meanwhile."""
        if self._untold:
            self._untold.append(event)
            event = self._untold.popleft()
        self._emitting = True
        try:
            while True:
                for subscription in self._rows[type(event)]:
                    if (listener := subscription.listener) is None:
                        continue
                    try:
                        heard = listener(event)
                        if heard is not None:
                            await heard
                    except asyncio.CancelledError:
                        if _is_being_cancelled():
                            raise
                        log.exception("a listener was cancelled during %s", type(event).__name__)
                    except Exception:
                        log.exception("a listener failed during %s", type(event).__name__)
                if not self._untold:
                    break
                event = self._untold.popleft()
        finally:
            self._emitting = False

    async def emit_after_current(self, event: AgentEvent) -> None:
        """Emit ``event`` after the event that is being delivered, if there is one."""
        if self._emitting:
            self._untold.append(event)
        else:
            await self.emit(event)


def _is_being_cancelled() -> bool:
    """Whether the run itself is cancelled, not only something that a listener awaited."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0

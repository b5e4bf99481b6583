"""What a run tells while it goes on, in the order of the recorded protocol.

The JSON form of each record is that of JSON mode and RPC.
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
    """Nothing more happens until somebody asks."""


class TurnStart(Record, tag="turn_start"):
    """A turn begins: one request and the tools it asks for."""


class TurnEnd(Record, tag="turn_end"):
    """A turn ends."""

    message: AssistantMessage
    tool_results: tuple[ToolResultMessage, ...] = ()


class MessageStart(Record, tag="message_start"):
    """A message begins; an answer is still empty."""

    message: Any


class MessageUpdate(
    Struct, frozen=True, kw_only=True, gc=False, rename="camel", tag="message_update"
):
    """An answer has grown by ``assistant_message_event``.

    Made for every token, and so no record: on Python 3.11 those take longer to make.
    """

    usage: Usage
    assistant_message_event: BlockEvent


class MessageEnd(Record, tag="message_end"):
    """A message is complete, and in the log."""

    message: Any


class ToolOutput(Record, omit_defaults=True):
    """What a tool gave, as it is told: whether it failed is said beside it."""

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
    """What a tool shows while it runs; replaces what it showed before."""

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
    """The queues have changed; both are given whole."""

    steering: tuple[str, ...] = ()
    follow_up: tuple[str, ...] = ()


class EntryAppended(Record, tag="entry_appended"):
    """Something other than a message was added to the log."""

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
"""Tells an event; returns when everybody has heard it."""


# Everybody who wants to hear what a run tells.


Listener: TypeAlias = Callable[[AgentEvent], Awaitable[None] | None]
"""Sync or async; what it raises is reported and harms nobody else."""


class _Subscription:
    """A place in the row of listeners; empty once it has ended."""

    __slots__ = ("listener",)

    def __init__(self, listener: Listener) -> None:
        self.listener: Listener | None = listener


class EventDispatcher:
    """Tells events to all, one event after another and always in the same order of listeners."""

    def __init__(self) -> None:
        self._row: tuple[_Subscription, ...] = ()
        self._row_of_updates: tuple[_Subscription, ...] = ()
        """Those who want to hear of every token."""
        self._untold: deque[AgentEvent] = deque()
        self._emitting = False

    def add(self, listener: Listener, *, updates: bool = True) -> Callable[[], None]:
        """Have ``listener`` called from now on; gives what ends that, at once.

        Without ``updates`` it is spared what is told with every token.
        """
        subscription = _Subscription(listener)
        self._row = (*self._row, subscription)
        if updates:
            self._row_of_updates = (*self._row_of_updates, subscription)

        def end() -> None:
            subscription.listener = None  # also for an event that is being told
            self._row = _without(subscription, self._row)
            self._row_of_updates = _without(subscription, self._row_of_updates)

        return end

    async def emit(self, event: AgentEvent) -> None:
        """Until everybody has heard ``event``, and what was told from inside a listener."""
        if self._untold:
            self._untold.append(event)
            event = self._untold.popleft()
        self._emitting = True
        try:
            while True:
                row = self._row_of_updates if type(event) is MessageUpdate else self._row
                for subscription in row:
                    if (listener := subscription.listener) is None:
                        continue
                    try:
                        heard = listener(event)
                        if heard is not None:
                            await heard
                    except asyncio.CancelledError:
                        if _is_being_cancelled():
                            raise
                        log.exception("a listener was cancelled at %s", type(event).__name__)
                    except Exception:
                        log.exception("a listener failed at %s", type(event).__name__)
                if not self._untold:
                    break
                event = self._untold.popleft()
        finally:
            self._emitting = False

    async def emit_after_current(self, event: AgentEvent) -> None:
        """Tell ``event``, but not before everybody has heard the one that is being told."""
        if self._emitting:
            self._untold.append(event)
        else:
            await self.emit(event)


def _without(ended: _Subscription, row: tuple[_Subscription, ...]) -> tuple[_Subscription, ...]:
    return tuple(other for other in row if other is not ended)


def _is_being_cancelled() -> bool:
    """Whether it is the run that is cancelled, and not something that a listener awaited."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0

"""Agent event records, their dispatcher, and the progress of a run that follows from them.

The JSON form of each record is the one of JSON mode and RPC.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Collection
from typing import Any, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from pi.agent.tools.tool import ToolResult
from pi.ai.event_stream import EventStream
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
    """The agent is idle: no queued message or retry is left."""

    aborted: bool = False
    """Whether the run was aborted."""


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
    """Tool output in an event; the event's own field says whether it failed.

    ``is_error`` is set only on a failure that the tool described with structured content.
    """

    content: tuple[Text | Image, ...]
    details: Any | UnsetType = UNSET
    structured_content: Any | UnsetType = UNSET
    """The result as a JSON value, for programs."""
    usage: Usage | UnsetType = UNSET
    terminate: bool = False
    is_error: bool = False

    @classmethod
    def of(cls, result: ToolResult) -> ToolOutput:
        """The public part of ``result``."""
        return cls(
            content=result.content,
            details=result.details,
            structured_content=result.structured_content,
            usage=result.usage,
            terminate=result.terminate,
            is_error=result.is_error and result.structured_content is not UNSET,
        )


class ToolExecutionStart(Record, tag="tool_execution_start"):
    """A tool call is about to run."""

    tool_call_id: str
    tool_name: str
    args: Json
    parent_tool_call_id: str | UnsetType = UNSET
    """The call whose tool made this one; absent for calls of the model."""


class ToolExecutionUpdate(Record, tag="tool_execution_update"):
    """Output of a running tool; replaces the previous output."""

    tool_call_id: str
    tool_name: str
    args: Json
    partial_result: ToolOutput
    parent_tool_call_id: str | UnsetType = UNSET


class ToolExecutionEnd(Record, tag="tool_execution_end"):
    """A tool call has ended."""

    tool_call_id: str
    tool_name: str
    result: ToolOutput
    is_error: bool
    duration_ms: int | UnsetType = UNSET
    """Absent if the tool never ran."""
    parent_tool_call_id: str | UnsetType = UNSET


def is_nested(event: object) -> bool:
    """Whether an event belongs to a call that a tool made; the model and the user see the tool."""
    return getattr(event, "parent_tool_call_id", UNSET) is not UNSET


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


Kinds: TypeAlias = Collection[type]


class _Subscription:
    """One subscription; ``listener`` is ``None`` after it has ended."""

    __slots__ = ("kinds", "listener")

    def __init__(self, listener: Listener, kinds: Kinds | None) -> None:
        self.listener: Listener | None = listener
        self.kinds = kinds


class EventDispatcher:
    """Delivers events to listeners one at a time, in the order of subscription."""

    def __init__(self) -> None:
        self._subscriptions: tuple[_Subscription, ...] = ()
        self._rows: dict[type, tuple[_Subscription, ...]] = {}
        """Subscriptions by event type: a cache, cleared when a subscription is added or removed."""
        self.has_update_listeners = False
        """Whether a listener gets per-token events; without one they need not be built."""
        self._queue: deque[AgentEvent] = deque()
        self._emitting = False

    def add(self, listener: Listener, *, kinds: Kinds | None = None) -> Callable[[], None]:
        """Subscribe ``listener``; returns an unsubscribe function that takes effect at once.

        With ``kinds`` the listener gets only events of these types.
        """
        subscription = _Subscription(listener, kinds)
        self._change((*self._subscriptions, subscription))

        def unsubscribe() -> None:
            subscription.listener = None  # also for the event being delivered
            self._change(tuple(other for other in self._subscriptions if other is not subscription))

        return unsubscribe

    def _change(self, subscriptions: tuple[_Subscription, ...]) -> None:
        self._subscriptions = subscriptions
        self._rows.clear()
        self.has_update_listeners = bool(self._row(MessageUpdate))

    async def emit(self, event: AgentEvent) -> None:
        """Deliver ``event`` and any events emitted by listeners meanwhile."""
        if self._queue:
            self._queue.append(event)
            event = self._queue.popleft()
        self._emitting = True
        try:
            while True:
                row = self._rows.get(type(event))
                for subscription in self._row(type(event)) if row is None else row:
                    if (listener := subscription.listener) is None:
                        continue
                    try:
                        pending = listener(event)
                        if pending is not None:
                            await pending
                    except asyncio.CancelledError:
                        if _is_being_cancelled():
                            raise
                        log.exception("a listener was cancelled during %s", type(event).__name__)
                    except Exception:
                        log.exception("a listener failed during %s", type(event).__name__)
                if not self._queue:
                    break
                event = self._queue.popleft()
        finally:
            self._emitting = False

    def _row(self, kind: type) -> tuple[_Subscription, ...]:
        row = self._rows[kind] = tuple(
            subscription
            for subscription in self._subscriptions
            if subscription.kinds is None or kind in subscription.kinds
        )
        return row

    async def emit_after_current(self, event: AgentEvent) -> None:
        """Emit ``event`` after the event that is being delivered, if there is one."""
        if self._emitting:
            self._queue.append(event)
        else:
            await self.emit(event)


def _is_being_cancelled() -> bool:
    """Whether the run itself is cancelled, not only something that a listener awaited."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class RunState:
    """Progress of the current run, updated from events. Empty between runs."""

    KINDS = (MessageStart, MessageEnd, ToolExecutionStart, ToolExecutionEnd)
    """Types of the events that ``handle`` needs."""

    def __init__(self) -> None:
        self.open_calls: set[str] = set()
        """Ids of the tool calls that have not ended."""
        self.error: str | None = None
        """Error of the last response, if it failed."""
        self._answer: EventStream | None = None
        self._answering = False

    @property
    def partial_answer(self) -> AssistantMessage | None:
        """The response being streamed, so far."""
        return self._answer.partial if self._answering and self._answer is not None else None

    def start_response(self, answer: EventStream) -> None:
        """Remember the stream of the response that was just requested."""
        self._answer = answer

    def handle(self, event: AgentEvent) -> None:
        """Update the state from an event."""
        match event:
            case MessageStart(message=AssistantMessage()):
                self._answering = True
            case MessageEnd(message=AssistantMessage() as message):
                self._answering = False
                self.error = message.error_message or None
            case ToolExecutionStart() if not is_nested(event):
                self.open_calls.add(event.tool_call_id)
            case ToolExecutionEnd():
                self.open_calls.discard(event.tool_call_id)
            case _:
                pass

    def end(self) -> None:
        """Reset after the run."""
        self._answer = None
        self._answering = False
        self.open_calls.clear()

"""What a run tells while it goes on, in the order of the recorded protocol.

The JSON form of each record is that of JSON mode and RPC.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from msgspec import Struct

from pi.agent.tool import ToolResult
from pi.ai.events import BlockEvent
from pi.ai.messages import AssistantMessage, Image, Json, Text, ToolResultMessage, Usage
from pi.base.records import UNSET, Record, UnsetType


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

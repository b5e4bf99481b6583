"""Messages of a conversation, their content blocks, usage and cost.

The JSON form of each record is the one of session files and of the RPC protocol.
"""

# Without `from __future__ import annotations`: every session decodes these records, and msgspec
# has to compile each annotation that is a string.

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, TypedDict

from msgspec import UNSET, UnsetType, field

from pi.ai.errors import LimitHit
from pi.base.records import Record

Json: TypeAlias = dict[str, Any]
"""A JSON object from an external source."""

StopReason: TypeAlias = Literal[
    "stop", "length", "toolUse", "error", "aborted", "deferred", "pending"
]
"""Why a response ended; ``pending`` only while it is streamed."""


class Text(Record, tag="text"):
    """Text for the reader."""

    text: str
    text_signature: str | UnsetType = UNSET
    """Opaque mark that some providers require back unchanged."""


class Thinking(Record, tag="thinking"):
    """The thinking of the model before its response."""

    thinking: str
    thinking_signature: str | UnsetType = UNSET
    """Opaque signature that some providers require back unchanged on the next turn."""
    redacted: bool | UnsetType = UNSET
    """The provider hides the text; only the signature is set."""


class Image(Record, tag="image"):
    """A picture as base64 without a ``data:`` prefix."""

    data: str
    mime_type: str

    @property
    def data_url(self) -> str:
        """Return the picture as a data URL."""
        return f"data:{self.mime_type};base64,{self.data}"


class ToolCall(Record, tag="toolCall"):
    """A tool call requested by the model."""

    id: str
    name: str
    arguments: Json
    thought_signature: str | UnsetType = UNSET
    namespace: str | UnsetType = UNSET


class Tool(Record):
    """A tool as it is declared to a model."""

    name: str
    description: str
    parameters: Json
    """JSON Schema of the arguments."""
    constrained_sampling: Json | Literal[False] | UnsetType = UNSET


class Cost(Record):
    """US dollars."""

    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0
    total: float = 0
    total_from_provider: bool | UnsetType = UNSET
    """True if the total is what the provider billed, not the sum of the other fields."""


class Usage(Record):
    """Token counts of one request and their cost."""

    input: int = 0
    """Without cached tokens, read or written."""
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int | UnsetType = field(default=UNSET, name="cacheWrite1h")
    """The part of ``cache_write`` that is kept for an hour."""
    reasoning: int | UnsetType = UNSET
    """The part of ``output`` that was thinking; 0 in an answer whose provider reports none."""
    total_tokens: int = 0
    cost: Cost = Cost()


class RemovedTool(TypedDict):
    """A tool that is no longer available."""

    name: str


class SystemMessage(Record, tag_field="role", tag="system"):
    """Instructions and tools, or a change of them: later messages patch earlier ones."""

    content: str | tuple[Text, ...]
    sections: dict[str, str | None] | UnsetType = UNSET
    tools_added: tuple[Tool, ...] | UnsetType = UNSET
    tools_removed: tuple[RemovedTool, ...] | UnsetType = UNSET
    timestamp: int = 0


class UserMessage(Record, tag_field="role", tag="user"):
    """Input from the user, or from a program in their place."""

    content: str | tuple[Text | Image, ...]
    timestamp: int = 0
    meta: Json | UnsetType = UNSET
    """Application metadata, e.g. the author; never sent to a model."""


class Interruption(Record):
    """The policy that interrupted a response, and the reason."""

    by: str
    reason: str


FailureKind: TypeAlias = Literal[
    "rate_limit",
    "quota",
    "billing",
    "overload",
    "outage",
    "context",
    "authentication",
    "refusal",
    "answer",
    "request",
    "other",
]


class RequestFailure(Record):
    """Why a request failed, for users and programs."""

    kind: FailureKind
    text: str
    """One sentence without JSON, with the end of a limit in local time."""
    next: str = ""
    """What to do; empty if nothing is known."""
    limit: LimitHit | UnsetType = UNSET


class AssistantMessage(Record, tag_field="role", tag="assistant"):
    """A model's response, finished or not."""

    content: tuple[Text | Thinking | ToolCall, ...] = ()
    api: str = ""
    provider: str = ""
    model: str = ""
    response_model: str | UnsetType = UNSET
    """The model that responded, if it is not the requested one."""
    response_id: str | UnsetType = UNSET
    provider_thinking_level: str | UnsetType = UNSET
    thinking_level: str | UnsetType = UNSET
    """The level that was requested; absent in messages of older versions."""
    diagnostics: tuple[Json, ...] | UnsetType = UNSET
    usage: Usage = Usage()
    stop_reason: StopReason = "stop"
    deferred: Json | UnsetType = UNSET
    error_message: str | UnsetType = UNSET
    """The status and the body of a refusal, as the original pi writes it; see ``failure``."""
    failure: RequestFailure | UnsetType = UNSET
    """Set with ``error_message`` if the provider failed; never sent to a model."""
    raw_stop_reason: str | UnsetType = UNSET
    end_turn: bool | UnsetType = UNSET
    interrupt: Interruption | UnsetType = UNSET
    """Set on a response that a policy interrupted; never sent to a model."""
    duration_ms: int | UnsetType = UNSET
    """From the request to the end of the response."""
    timestamp: int = 0

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Return the calls in the order in which the model made them."""
        return tuple(block for block in self.content if isinstance(block, ToolCall))

    @property
    def text(self) -> str:
        """Return all text blocks, joined."""
        return "".join(block.text for block in self.content if isinstance(block, Text))


class NestedCall(Record):
    """A call that a tool made while it ran."""

    id: str
    """The id of the outer call, a slash, and a number from 1."""
    name: str
    arguments: Json | UnsetType = UNSET
    """Absent if they are too long."""
    arguments_bytes: int | UnsetType = UNSET
    """The size of absent arguments."""
    status: Literal["ok", "error", "unfinished"] = "unfinished"
    duration_ms: int | UnsetType = UNSET
    error: str | UnsetType = UNSET
    """The beginning of the error."""


class NestedCalls(Record):
    """The calls that a tool made while it ran."""

    calls: tuple[NestedCall, ...]
    complete: bool
    """Whether all of them are listed."""


class ToolResultMessage(Record, tag_field="role", tag="toolResult"):
    """The result of a tool call."""

    tool_call_id: str
    tool_name: str
    content: tuple[Text | Image, ...]
    details: Any | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET
    is_error: bool = False
    useless: bool | UnsetType = UNSET
    """The result is not worth keeping in the context; never sent to a model."""
    duration_ms: int | UnsetType = UNSET
    """Absent if the tool never ran."""
    nested_calls: NestedCalls | UnsetType = UNSET
    timestamp: int = 0

    @property
    def text(self) -> str:
        """Return the text without the pictures, every block on lines of its own."""
        return "\n".join(block.text for block in self.content if isinstance(block, Text))


Message: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolResultMessage


class Context(Record):
    """The input of a request: instructions, the conversation so far, the available tools."""

    system_prompt: str | UnsetType = UNSET
    messages: Sequence[Message] = ()
    tools: tuple[Tool, ...] | UnsetType = UNSET


def blocks(content: str | tuple[Text | Image, ...]) -> tuple[Text | Image, ...]:
    """Return a message's content as blocks, also if it is a plain string."""
    return (Text(text=content),) if isinstance(content, str) else content


def add_usage(one: Usage, other: Usage) -> Usage:
    """Return the sum of both; fields that neither reports stay unset."""
    return Usage(
        input=one.input + other.input,
        output=one.output + other.output,
        cache_read=one.cache_read + other.cache_read,
        cache_write=one.cache_write + other.cache_write,
        cache_write_1h=_sum(one.cache_write_1h, other.cache_write_1h),
        reasoning=_sum(one.reasoning, other.reasoning),
        total_tokens=one.total_tokens + other.total_tokens,
        cost=Cost(
            input=one.cost.input + other.cost.input,
            output=one.cost.output + other.cost.output,
            cache_read=one.cost.cache_read + other.cost.cache_read,
            cache_write=one.cost.cache_write + other.cost.cache_write,
            total=one.cost.total + other.cost.total,
        ),
    )


def _sum(one: int | UnsetType, other: int | UnsetType) -> int | UnsetType:
    if one is UNSET:
        return other
    return one if other is UNSET else one + other

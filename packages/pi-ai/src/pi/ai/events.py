"""Stream event records.

A stream is one ``Start`` (unless the request could not be made), any number of block events, then
exactly one ``Done`` or ``Failed``. Block events carry only what is new; the message so far is the
stream's ``partial``. The JSON form is the one of JSON mode and RPC.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from pi.ai.messages import AssistantMessage, ToolCall
from pi.base.records import Record


class Start(Record, tag="start"):
    """The request was accepted and the response begins."""


class _Delta(Struct, frozen=True, gc=False):
    """Not a record: on Python 3.11 creating one takes three times as long.

    These are created for every token, and contain nothing that the garbage collector tracks.
    """


class TextStart(Record, tag="text_start"):
    """A text block opens at ``content_index``."""

    content_index: int


class TextDelta(_Delta, frozen=True, kw_only=True, rename="camel", tag="text_delta"):
    """More text of a text block."""

    content_index: int
    delta: str


class TextEnd(Record, tag="text_end"):
    """A text block is complete."""

    content_index: int
    content: str


class ThinkingStart(Record, tag="thinking_start"):
    """A thinking block opens."""

    content_index: int


class ThinkingDelta(_Delta, frozen=True, kw_only=True, rename="camel", tag="thinking_delta"):
    """More text of a thinking block."""

    content_index: int
    delta: str


class ThinkingEnd(Record, tag="thinking_end"):
    """A thinking block is complete."""

    content_index: int
    content: str


class ToolCallStart(Record, tag="toolcall_start"):
    """A tool call opens."""

    content_index: int
    id: str
    tool_name: str


class ToolCallDelta(_Delta, frozen=True, kw_only=True, rename="camel", tag="toolcall_delta"):
    """More of a call's arguments, as a piece of JSON text."""

    content_index: int
    delta: str


class ToolCallEnd(Record, tag="toolcall_end"):
    """A tool call is complete."""

    content_index: int
    tool_call: ToolCall


class Done(Record, tag="done"):
    """The response is complete."""

    reason: Literal["stop", "length", "toolUse", "deferred"]
    message: AssistantMessage


class Failed(Record, tag="error"):
    """The response ended early; ``error`` holds the partial message and the reason."""

    reason: Literal["error", "aborted"]
    error: AssistantMessage


Delta: TypeAlias = TextDelta | ThinkingDelta | ToolCallDelta
BlockEvent: TypeAlias = (
    TextStart
    | TextDelta
    | TextEnd
    | ThinkingStart
    | ThinkingDelta
    | ThinkingEnd
    | ToolCallStart
    | ToolCallDelta
    | ToolCallEnd
)
StreamEvent: TypeAlias = Start | BlockEvent | Done | Failed

"""Decodes pi's own events, which come without the message so far. Pure."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from typing import Any, get_args

import msgspec

from pi.ai.builder import CompleteReason, MessageBuilder, ToolCallBlock
from pi.ai.errors import BadAnswer, ProviderError
from pi.ai.failures.classify import from_error_object, from_status
from pi.ai.http.response_parser import Headers
from pi.ai.json_text import read_lenient
from pi.ai.messages import ToolCall, Usage
from pi.ai.tool_arguments import parse_arguments
from pi.ai.wire_support.sse import ServerEvent
from pi.base.clock import Clock
from pi.base.records import UNREADABLE

_WITH_STATUS = r"(?s)([45]\d\d): (.+)"
"""An error response of another server: its status and its message."""


class _Event(msgspec.Struct, rename="camel", gc=False):
    """The fields of all events, of which each has a few; unknown ones are skipped."""

    type: str | None = None
    content_index: int | None = None
    delta: str | None = None
    content: str | None = None
    content_signature: str | None = None
    redacted: bool | None = None
    id: str | None = None
    tool_name: str | None = None
    tool_call: Any = None
    reason: str | None = None
    usage: Any = None
    response_id: str | None = None
    response_model: str | None = None
    raw_stop_reason: str | None = None
    error_message: str | None = None
    retry_after: float | None = None


_EVENTS = msgspec.json.Decoder(_Event)
_decode = _EVENTS.decode


class EventDecoder:
    """Decodes the events of one response."""

    def __init__(self, builder: MessageBuilder, clock: Clock) -> None:
        self.finished = False
        self._builder = builder
        self._clock = clock
        self._closed: dict[int | None, int] = {}
        """Number of complete blocks by index."""

    def feed(self, events: Iterable[ServerEvent]) -> None:
        """Decode events up to the last one of the response."""
        for name, data in events:
            self._decode_event(name, data)
            if self.finished:
                return

    def end(self) -> None:
        """Called if the stream ended without a final event: raises ``BadAnswer``."""
        raise BadAnswer("Stream ended without done")

    # Blocks ------------------------------------------------------------------------------------

    def _decode_event(self, name: str, data: bytes) -> None:
        """Decode one event."""
        try:
            event = _decode(data)
        except UNREADABLE:
            event = read_lenient(_EVENTS, data) or _Event()
        match event.type:
            case "text_start" | "text_delta":
                key = self._key("text", event)
                self._builder.text(key, event.delta or "")
            case "thinking_start" | "thinking_delta":
                key = self._key("thinking", event)
                self._builder.thinking(key, event.delta or "")
            case "toolcall_start":
                key = self._key("toolcall", event)
                self._builder.tool_call(key, event.id or "", event.tool_name or "")
            case "toolcall_delta":
                key = self._key("toolcall", event)
                if self._builder.find(key) is not None:
                    self._builder.arguments(key, event.delta or "")
            case "text_end" | "thinking_end" | "toolcall_end":
                self._close(event)
            case "done":
                self._finish(event)
            case "error":
                self._fail(event)
            case _:
                pass  # the start, and unknown newer events

    def _close(self, event: _Event) -> None:
        """Add content that is sent only at the end, and close the block."""
        kind = (event.type or "").removesuffix("_end")
        key = self._key(kind, event)
        block = self._builder.find(key)
        missing_text = event.content or "" if block is None or not block.parts else ""
        if kind == "text":
            text = self._builder.text(key, missing_text)
            text.signature = event.content_signature or text.signature
        elif kind == "thinking":
            thought = self._builder.thinking(key, missing_text)
            thought.signature = event.content_signature or thought.signature
            thought.redacted = event.redacted is True
        elif isinstance(block, ToolCallBlock):
            _complete_call(block, event)
        self._builder.end(key)
        self._closed[event.content_index] = self._closed.get(event.content_index, 0) + 1

    def _key(self, kind: str, event: _Event) -> Hashable:
        """Return the key of the current block at the event's index."""
        index = event.content_index
        return kind, index, self._closed.get(index, 0)

    # End of the stream -------------------------------------------------------------------------

    def _finish(self, event: _Event) -> None:
        self._note_end(event)
        reason: Any = event.reason if event.reason in get_args(CompleteReason) else "stop"
        self._builder.finish(reason)

    def _fail(self, event: _Event) -> None:
        self._note_end(event)
        if event.reason == "aborted":
            self._builder.abort()
        else:
            raise _failure(event, self._clock)

    def _note_end(self, event: _Event) -> None:
        self.finished = True
        builder = self._builder
        builder.response_id = event.response_id or builder.response_id
        builder.response_model = event.response_model or builder.response_model
        builder.raw_stop_reason = event.raw_stop_reason or builder.raw_stop_reason
        try:
            builder.usage = msgspec.convert(event.usage, Usage)
        except msgspec.ValidationError:
            return  # not valid counts
        if "cost" in event.usage:
            builder.charged = builder.usage.cost.total
            builder.is_billed = builder.usage.cost.total_from_provider is True


def _complete_call(block: ToolCallBlock, event: _Event) -> None:
    """Add the parts of the final call that its deltas did not contain."""
    block.thought_signature = event.content_signature or block.thought_signature
    try:
        call = msgspec.convert(event.tool_call, ToolCall)
    except msgspec.ValidationError:
        return
    block.thought_signature = call.thought_signature or block.thought_signature
    block.namespace = call.namespace
    if not block.parts or parse_arguments(block.text) is None:
        block.arguments = call.arguments


def _failure(event: _Event, clock: Clock) -> ProviderError:
    """Return the same kind of error as on the server, with its message."""
    message = event.error_message or "The server could not answer and did not say why."
    if (parts := re.fullmatch(_WITH_STATUS, message)) is None:
        return from_error_object({"message": message, "retryAfter": event.retry_after}, clock=clock)
    wait = () if event.retry_after is None else (("retry-after", str(event.retry_after)),)
    body = parts[2].encode("utf-8", "replace")
    return from_status(int(parts[1]), Headers(wait), body, clock)

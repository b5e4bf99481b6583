"""Decodes the event stream of ``ConverseStream``. Pure."""

from __future__ import annotations

import binascii
from collections.abc import Hashable, Iterable

import msgspec
from msgspec import UNSET

from pi.ai.builder import CompleteReason, MessageBuilder
from pi.ai.errors import AnswerRefused, BadAnswer, ProviderError
from pi.ai.failures.classify import from_error_object
from pi.ai.json_text import MAX_SHOWN, read_lenient
from pi.ai.messages import Usage
from pi.ai.wire.bedrock_converse.event_stream import EXCEPTION
from pi.ai.wire_support.sse import ServerEvent
from pi.base.records import UNREADABLE

STOP_REASONS: dict[str, CompleteReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "toolUse",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
REFUSALS = frozenset({"guardrail_intervened", "content_filtered"})
"""Stops by a filter: a retry would have the same result."""
BROKEN = frozenset({"malformed_model_output", "malformed_tool_use"})


class _Shape(msgspec.Struct, rename="camel", gc=False):
    """A part of an event; any field may be null, unknown ones are skipped."""


class _Reasoning(_Shape):
    text: str | None = None
    signature: str | None = None
    redacted_content: str | None = None


class _ToolUse(_Shape):
    tool_use_id: str | None = None
    name: str | None = None
    input: str | None = None


class _Part(_Shape):
    text: str | None = None
    reasoning_content: _Reasoning | None = None
    tool_use: _ToolUse | None = None


class _CacheDetail(_Shape):
    ttl: str | None = None
    input_tokens: int | None = None


class _TokenUsage(_Shape):
    input_tokens: int | None = None
    """Without cached tokens, read or written."""
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None
    cache_details: list[_CacheDetail | None] | None = None


class _Event(_Shape):
    """The fields of all event types; none has two meanings."""

    content_block_index: int | None = None
    delta: _Part | None = None
    start: _Part | None = None
    stop_reason: str | None = None
    usage: _TokenUsage | None = None


_NOTHING = _Event()
_EVENTS = msgspec.json.Decoder(_Event)
_decode = _EVENTS.decode


class ConverseDecoder:
    """Decodes the events of one response.

    The stop reason and the usage both come at the end, each in an event of its own: after both, the
    response is complete.
    """

    def __init__(self, builder: MessageBuilder) -> None:
        self.finished = False
        self._builder = builder
        self._called = False
        self._stopped: str | None = None
        self._counted = False
        self._closed: dict[int | None, int] = {}
        """Number of complete blocks by index."""

    def feed(self, events: Iterable[ServerEvent]) -> None:
        """Decode events up to the last one of the response."""
        for name, data in events:
            self._decode_event(name, data)
            if self.finished:
                return

    def end(self) -> None:
        """Complete the response if only its usage is missing; otherwise raises ``BadAnswer``."""
        if self._stopped is None:
            raise BadAnswer("Stream ended without messageStop")
        self._complete(self._stopped)

    # Events and deltas -------------------------------------------------------------------------

    def _decode_event(self, name: str, data: bytes) -> None:
        """Decode one event."""
        if name == "contentBlockDelta":
            event = _read(data)
            if event.delta is not None:
                self._add_delta(event.content_block_index, event.delta)
        elif name.startswith(EXCEPTION):
            raise _failure(name.removeprefix(EXCEPTION), data)
        else:
            self._handle_mark(name, _read(data))

    def _handle_mark(self, name: str, event: _Event) -> None:
        """Handle events around the deltas."""
        match name:
            case "contentBlockStart" if event.start is not None:
                self._open(event.content_block_index, event.start)
            case "contentBlockStop":
                self._close(event.content_block_index)
            case "messageStop":
                self._stopped = self._builder.raw_stop_reason = event.stop_reason or "end_turn"
            case "metadata" if event.usage is not None:
                self._record_usage(event.usage)
            case _:
                return  # the start of the message, and unknown newer events
        if self._stopped is not None and self._counted:
            self._complete(self._stopped)

    def _add_delta(self, index: int | None, delta: _Part) -> None:
        if delta.text:
            self._builder.text(self._key("text", index), delta.text)
        elif delta.reasoning_content is not None:
            self._add_thinking(index, delta.reasoning_content)
        elif delta.tool_use is not None:
            key = self._key("call", index)
            if self._builder.find(key) is not None:
                self._builder.arguments(key, delta.tool_use.input or "")

    def _add_thinking(self, index: int | None, delta: _Reasoning) -> None:
        if not (delta.text or delta.signature or delta.redacted_content):
            return
        block = self._builder.thinking(self._key("thinking", index), delta.text or "")
        if delta.signature:
            block.signature = (block.signature or "") + delta.signature
        if delta.redacted_content:
            block.redacted = True
            block.signature = _joined(block.signature or "", delta.redacted_content)

    def _open(self, index: int | None, start: _Part) -> None:
        if (call := start.tool_use) is not None:
            self._called = True
            key = self._key("call", index)
            self._builder.tool_call(key, call.tool_use_id or "", call.name or "")

    def _close(self, index: int | None) -> None:
        for kind in ("text", "thinking", "call"):
            self._builder.end(self._key(kind, index))
        self._closed[index] = self._closed.get(index, 0) + 1

    def _key(self, kind: str, index: int | None) -> Hashable:
        """Return the key of the current block: some models give several blocks the same index."""
        return kind, index, self._closed.get(index, 0)

    def _record_usage(self, usage: _TokenUsage) -> None:
        self._counted = True
        details = usage.cache_details or ()
        for_an_hour = [part.input_tokens or 0 for part in details if part and part.ttl == "1h"]
        self._builder.usage = Usage(
            input=usage.input_tokens or 0,
            output=usage.output_tokens or 0,
            cache_read=usage.cache_read_input_tokens or 0,
            cache_write=usage.cache_write_input_tokens or 0,
            cache_write_1h=sum(for_an_hour) if for_an_hour else UNSET,
        )

    # End of the stream -------------------------------------------------------------------------

    def _complete(self, reason: str) -> None:
        self.finished = True
        if reason in REFUSALS:
            raise AnswerRefused(
                f"Provider stop reason: {reason}",
                hint="Ask in other words, or check the guardrail of this account.",
                code=reason,
            )
        if reason in BROKEN:
            raise BadAnswer(f"Provider stop reason: {reason}", code=reason)
        stop_reason = STOP_REASONS.get(reason, "stop")
        self._builder.finish("toolUse" if stop_reason == "stop" and self._called else stop_reason)


def _read(data: bytes) -> _Event:
    try:
        return _decode(data)
    except UNREADABLE:
        return read_lenient(_EVENTS, data) or _NOTHING


def _failure(kind: str, data: bytes) -> ProviderError:
    try:
        fields = msgspec.json.decode(data)
    except UNREADABLE:
        fields = {"message": data[:MAX_SHOWN].decode("utf-8", "replace")}
    return from_error_object({"__type": kind, **(fields if isinstance(fields, dict) else {})})


def _joined(first: str, second: str) -> str:
    """Join two pieces of base64; usually there is only one piece."""
    if not first:
        return second
    try:
        joined = binascii.a2b_base64(first) + binascii.a2b_base64(second)
    except binascii.Error as error:
        raise BadAnswer("Bedrock sent a redacted thought that is not base64.") from error
    return binascii.b2a_base64(joined, newline=False).decode()

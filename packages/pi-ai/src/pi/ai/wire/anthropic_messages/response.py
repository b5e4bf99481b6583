"""Decodes the server-sent events of ``/v1/messages``. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import UNSET

from pi.ai.builder import CompleteReason, MessageBuilder, ToolCallBlock
from pi.ai.errors import AnswerRefused, BadAnswer
from pi.ai.failures.classify import from_error_object
from pi.ai.json_text import DONE, read_json
from pi.ai.messages import Json
from pi.ai.models.prices import billed_cost
from pi.ai.wire.anthropic_messages.usage import counted
from pi.ai.wire_support.sse import ServerEvent
from pi.base.records import UNREADABLE

REASONS: dict[str, CompleteReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "toolUse",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
DECLINED = frozenset({"refusal", "sensitive", "content_filter"})
UNFINISHED = frozenset({"pause_turn", "error"})


class _Delta(msgspec.Struct):
    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    partial_json: str | None = None


class _BlockDelta(msgspec.Struct):
    """The most frequent event by far, read without building a dictionary."""

    index: int = 0
    delta: _Delta | None = None


_read_delta = msgspec.json.Decoder(_BlockDelta).decode


class MessagesDecoder:
    """Decodes the events of one response."""

    def __init__(self, builder: MessageBuilder) -> None:
        self.finished = False
        self._builder = builder
        self._explanation = ""
        """Why the response stopped, in the provider's terms."""

    def feed(self, events: Iterable[ServerEvent]) -> None:
        """Decode events up to the last one of the response."""
        for name, data in events:
            self._decode_event(name, data)
            if self.finished:
                return

    def end(self) -> None:
        """Called if the stream ended without its last event: raises ``BadAnswer``."""
        raise BadAnswer("The stream ended before the answer was complete.")

    def _decode_event(self, name: str, data: bytes) -> None:
        """Decode one event. Raises ``ProviderError`` for an error inside the stream."""
        try:
            event = _read_delta(data)
        except UNREADABLE:
            self._decode_json(name, data)
            return
        delta = event.delta
        if delta is None:
            self._decode_json(name, data)
        elif delta.type == "text_delta" and delta.text is not None:
            self._builder.text(("text", event.index), delta.text)
        elif delta.type == "thinking_delta" and delta.thinking is not None:
            self._builder.thinking(("thinking", event.index), delta.thinking)
        elif delta.type == "input_json_delta" and delta.partial_json is not None:
            self._add_arguments(event.index, delta.partial_json)
        else:
            self._decode_json(name, data)

    def _decode_json(self, name: str, data: bytes) -> None:
        if data.strip() == DONE:  # a gateway's own last event
            if self._builder.raw_stop_reason is UNSET:
                self.end()
            self._stop()
        elif isinstance(event := read_json(data), dict):
            self._handle(event.get("type") or name, event)

    def _handle(self, kind: str, event: Json) -> None:
        match kind:
            case "content_block_delta":
                self._grow(_index(event), _table(event, "delta"))
            case "content_block_start":
                self._open(_index(event), _table(event, "content_block"))
            case "content_block_stop":
                for block in ("text", "thinking", "tool"):
                    self._builder.end((block, _index(event)))
            case "message_start":
                self._begin(_table(event, "message"))
            case "message_delta":
                self._conclude(_table(event, "delta"), _table(event, "usage"))
            case "message_stop":
                self._stop()
            case _ if event.get("error"):  # of type error, or of none
                self.finished = True
                raise from_error_object(event)
            case _:
                pass  # pings, and unknown newer events

    def _begin(self, message: Json) -> None:
        builder = self._builder
        builder.response_id = _string(message, "id") or UNSET
        builder.response_model = _string(message, "model") or UNSET
        builder.usage = counted(builder.usage, _table(message, "usage"))

    def _open(self, index: int, block: Json) -> None:
        builder = self._builder
        match block.get("type"):
            case "text":
                builder.text(("text", index), _string(block, "text"))
            case "thinking":
                builder.thinking(("thinking", index), _string(block, "thinking"))
                self._sign(index, _string(block, "signature"))
            case "redacted_thinking":
                builder.thinking(("thinking", index), "").redacted = True
                self._sign(index, _string(block, "data"))
            case "tool_use":
                builder.tool_call(("tool", index), _string(block, "id"), _string(block, "name"))
                self._add_arguments(index, block.get("input"))
            case "fallback":
                served_by = _string(_table(block, "to"), "model")
                builder.response_model = served_by or builder.response_model
            case _:
                pass  # tools that the server runs itself

    def _grow(self, index: int, delta: Json) -> None:
        match delta.get("type"):
            case "text_delta":
                self._builder.text(("text", index), _string(delta, "text"))
            case "thinking_delta":
                self._builder.thinking(("thinking", index), _string(delta, "thinking"))
            case "signature_delta":
                self._sign(index, _string(delta, "signature"))
            case "input_json_delta":
                self._add_arguments(index, delta.get("partial_json"))
            case _:
                pass  # citations

    def _sign(self, index: int, signature: str) -> None:
        if signature:
            block = self._builder.thinking(("thinking", index), "")
            block.signature = (block.signature or "") + signature

    def _add_arguments(self, index: int, piece: Any) -> None:
        """Append arguments: a piece of JSON text, or (part of) the object itself."""
        call = self._builder.find(("tool", index))
        if not isinstance(call, ToolCallBlock):
            return  # of a tool that the server runs itself
        if isinstance(piece, dict) and piece:
            call.arguments = {**(call.arguments or {}), **piece}
        elif isinstance(piece, str) and piece:
            call.arguments = None
            self._builder.arguments(("tool", index), piece)

    def _conclude(self, delta: Json, usage: Json) -> None:
        if reason := _string(delta, "stop_reason"):
            self._builder.raw_stop_reason = reason
        if explanation := _string(_table(delta, "stop_details"), "explanation"):
            self._explanation = explanation
        self._builder.usage = counted(self._builder.usage, usage)
        if (cost := billed_cost(usage)) is not None:  # OpenRouter reports it here, too
            self._builder.charged = cost

    def _stop(self) -> None:
        self.finished = True
        raw = self._builder.raw_stop_reason
        reason = raw.lower() if isinstance(raw, str) else "end_turn"
        if reason in DECLINED:
            explanation = self._explanation or "it gave no explanation."
            raise AnswerRefused(f"The model declined to answer: {explanation}", code=reason)
        if reason in UNFINISHED:
            raise BadAnswer(f"The provider stopped in the middle of its answer ({raw}).")
        self._builder.finish(REASONS.get(reason, "stop"))


def _index(event: Json) -> int:
    index = event.get("index")
    return index if isinstance(index, int) else 0


def _table(event: Json, name: str) -> Json:
    value = event.get(name)
    return value if isinstance(value, dict) else {}


def _string(event: Json, name: str) -> str:
    value = event.get(name)
    return value if isinstance(value, str) else ""

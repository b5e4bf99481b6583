"""Decodes the chunks of a chat completion. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import msgspec
from msgspec import UNSET

from pi.ai.builder import CompleteReason, MessageBuilder
from pi.ai.errors import AnswerRefused, BadAnswer, ProviderUnavailable
from pi.ai.failures.classify import from_error_object
from pi.ai.json_text import DONE, fitted, json_text, read_json
from pi.ai.messages import Usage
from pi.ai.wire.mistral_conversations.history import short_id
from pi.ai.wire_support.sse import ServerEvent
from pi.base.records import UNREADABLE

STOP_REASONS: dict[str, CompleteReason] = {
    "stop": "stop",
    "length": "length",
    "model_length": "length",
    "tool_calls": "toolUse",
}
NO_ID = "null"
"""Some servers send this instead of an id."""


class _Shape(msgspec.Struct, gc=False):
    """A part of a chunk; any field may be null, unknown ones are skipped."""


class _Part(_Shape):
    """A piece of content: text, or thinking, which consists of such pieces itself."""

    type: str | None = None
    text: str | None = None
    thinking: list[_Part | None] | str | None = None
    signature: str | None = None


class _Function(_Shape):
    name: str | None = None
    arguments: Any = None


class _Call(_Shape):
    function: _Function | None = None
    id: str | None = None
    index: int | None = None


class _Delta(_Shape):
    content: str | list[_Part | None] | None = None
    tool_calls: list[_Call | None] | None = None


class _Choice(_Shape):
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Details(_Shape):
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class _Usage(_Shape):
    prompt_tokens: int | None = None
    """The whole prompt, including cached tokens."""
    completion_tokens: int | None = None
    num_cached_tokens: int | None = None
    prompt_tokens_details: _Details | None = None
    completion_tokens_details: _Details | None = None


class _Chunk(_Shape):
    choices: list[_Choice | None] | None = None
    usage: _Usage | None = None
    id: str | None = None
    model: str | None = None
    object: str | None = None
    error: Any = None


_CHUNKS = msgspec.json.Decoder(_Chunk)
_decode = _CHUNKS.decode


class CompletionDecoder:
    """Decodes the chunks of one response.

    The finish reason and the usage usually come in one chunk; after both, or after ``[DONE]``, the
    response is complete.
    """

    def __init__(self, builder: MessageBuilder) -> None:
        self.finished = False
        self._builder = builder
        self._block = 0
        """The key of the current block."""
        self._thinking: bool | None = None
        """Whether that block is thinking; ``None`` if no block can take more text."""
        self._last_call: Hashable = None
        self._called = False
        self._stopped: str | None = None
        self._counted = False

    def feed(self, events: Iterable[ServerEvent]) -> None:
        """Decode events up to the last one of the response."""
        for name, data in events:
            self._decode_event(name, data)
            if self.finished:
                return

    def end(self) -> None:
        """Complete the response if only its usage is missing; otherwise raises ``BadAnswer``."""
        if self._stopped is None:
            raise BadAnswer("Stream ended without finish_reason")
        self._complete(self._stopped)

    # Chunks and deltas -------------------------------------------------------------------------

    def _decode_event(self, name: str, data: bytes) -> None:
        """Decode one event."""
        if data == DONE:
            self._complete(self._stopped or "stop")
            return
        chunk = _read(data)
        if chunk.choices and (choice := chunk.choices[0]) is not None:
            if (delta := choice.delta) is not None:
                self._add_delta(delta)
            if choice.finish_reason:
                self._stopped = self._builder.raw_stop_reason = choice.finish_reason
        elif chunk.error or chunk.object == "error":
            raise from_error_object(read_json(data))
        if self._builder.response_id is UNSET and chunk.id:
            self._builder.response_id = chunk.id
            self._builder.response_model = chunk.model or UNSET
        if chunk.usage is not None:
            self._record_usage(chunk.usage)
        if self._stopped is not None and self._counted:
            self._complete(self._stopped)

    def _add_delta(self, delta: _Delta) -> None:
        content = delta.content
        if isinstance(content, str):
            self._add_text(content)
        elif content:
            for part in content:
                if part is not None:
                    self._add_part(part)
        for call in delta.tool_calls or ():
            if call is not None:
                self._add_call(call)

    def _add_part(self, part: _Part) -> None:
        """Add text or thinking; references and other parts are skipped."""
        if part.thinking is not None or part.type == "thinking":
            self._add_thinking(_thinking_text(part.thinking), part.signature or "")
        elif part.type in ("text", None):
            self._add_text(part.text or "")

    def _add_text(self, text: str) -> None:
        if text:
            if self._thinking is not False:
                self._next_block(thinking=False)
            self._builder.text(self._block, text)

    def _add_thinking(self, text: str, signature: str) -> None:
        if text or signature:
            if self._thinking is not True:
                self._next_block(thinking=True)
            block = self._builder.thinking(self._block, text)
            if signature:
                block.signature = (block.signature or "") + signature

    def _add_call(self, call: _Call) -> None:
        self._next_block(thinking=None)
        self._called = True
        identifier = "" if call.id == NO_ID else call.id or ""
        function = call.function or _Function()
        key = self._call_key(call.index, identifier)
        if self._builder.find(key) is None:
            # Generated here if missing: the next request must have an id in Mistral's form.
            identifier = identifier or short_id(f"{self._builder.response_id} {key}")
        block = self._builder.tool_call(key, identifier, function.name or "")
        block.name = block.name or function.name or ""
        if isinstance(function.arguments, dict):
            block.arguments = {**(block.arguments or {}), **function.arguments}
            self._builder.arguments(key, json_text(function.arguments))
        elif isinstance(function.arguments, str):
            self._builder.arguments(key, function.arguments)

    def _call_key(self, index: int | None, identifier: str) -> Hashable:
        """Return the key that the pieces of a call share: its index, its id, or the last key."""
        if index is not None:
            self._last_call = ("call", index)
        elif identifier or self._last_call is None:
            self._last_call = ("call", identifier)
        return self._last_call

    def _next_block(self, *, thinking: bool | None) -> None:
        self._builder.end(self._block)
        self._block += 1
        self._thinking = thinking

    def _record_usage(self, usage: _Usage) -> None:
        self._counted = True
        details = usage.prompt_tokens_details or _Details()
        cached = usage.num_cached_tokens or details.cached_tokens or 0
        thoughts = (usage.completion_tokens_details or _Details()).reasoning_tokens
        self._builder.usage = Usage(
            input=max((usage.prompt_tokens or 0) - cached, 0),
            output=usage.completion_tokens or 0,
            cache_read=cached,
            reasoning=UNSET if thoughts is None else thoughts,
        )

    # End of the stream -------------------------------------------------------------------------

    def _complete(self, reason: str) -> None:
        self.finished = True
        word = reason.lower()
        if word == "error":
            raise ProviderUnavailable("Provider finish_reason: error", code=word)
        if word == "content_filter":
            raise AnswerRefused("Provider finish_reason: content_filter", code=word)
        stop_reason = STOP_REASONS.get(word, "stop")
        self._builder.finish("toolUse" if stop_reason == "stop" and self._called else stop_reason)


def _thinking_text(thinking: list[_Part | None] | str | None) -> str:
    if isinstance(thinking, str):
        return thinking
    return "".join(part.text or "" for part in thinking or () if part is not None)


def _read(data: bytes) -> _Chunk:
    try:
        return _decode(data)
    except UNREADABLE:
        value = read_json(data)
    if (chunk := fitted(value, _CHUNKS)) is not None:
        return chunk
    # JSON of another form: an error, or newer than this module.
    return _Chunk(error=value.get("error") if isinstance(value, dict) else None)

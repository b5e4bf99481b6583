"""Event records of ``streamGenerateContent``, and token counts. Pure.

Typed decoding skips the rest of an event in C. Every field may be null, and an event whose fields
have other types than Google documents is decoded piece by piece instead of being lost.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from pi.ai.json_text import read_json
from pi.ai.messages import Json, Usage


class EventShape(msgspec.Struct, rename="camel", gc=False):
    """A part of an event; unknown fields are skipped."""


class FunctionCall(EventShape):
    """A tool call."""

    name: str | None = None
    args: Any = None
    id: str | None = None


class Part(EventShape):
    """A part of a response."""

    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: FunctionCall | None = None


class Content(EventShape):
    """The content of a candidate in this event."""

    parts: list[Part | None] | None = None


class Candidate(EventShape):
    """One of the alternatives; we request one."""

    content: Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None


class UsageMetadata(EventShape):
    """Tokens so far."""

    prompt_token_count: int | None = None
    """The whole prompt, including cached tokens."""
    cached_content_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    """Without thinking."""
    thoughts_token_count: int | None = None


class PromptFeedback(EventShape):
    """The filter's verdict on the prompt."""

    block_reason: str | None = None
    block_reason_message: str | None = None


class Chunk(EventShape):
    """One event."""

    candidates: list[Candidate | None] | None = None
    usage_metadata: UsageMetadata | None = None
    model_version: str | None = None
    response_id: str | None = None
    prompt_feedback: PromptFeedback | None = None
    error: Any = None


EMPTY = Chunk()

decode = msgspec.json.Decoder(Chunk).decode
"""Decodes an event; raises ``UNREADABLE`` if it is not as Google documents it."""
S = TypeVar("S", bound=EventShape)


def decode_lenient(data: bytes) -> Chunk:
    """Decodes what is valid of an event with fields of the wrong types.

    Raises ``BadAnswer`` if it is not even JSON.
    """
    event = read_json(data)
    if isinstance(event, list) and event:  # without ``alt=sse`` events come as a list
        event = event[0]
    if not isinstance(event, dict):
        return EMPTY
    candidates = event.get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    fields = {key: value for key, value in event.items() if not isinstance(value, dict | list)}
    chunk = _fitting(fields, Chunk)
    chunk.candidates = [_salvaged_candidate(first)] if isinstance(first, dict) else None
    chunk.usage_metadata = _fitting(event.get("usageMetadata"), UsageMetadata)
    chunk.prompt_feedback = _fitting(event.get("promptFeedback"), PromptFeedback)
    chunk.error = event.get("error")
    return chunk


def _salvaged_candidate(candidate: Json) -> Candidate:
    content = candidate.get("content")
    found = content.get("parts") if isinstance(content, dict) else None
    parts: list[Part | None] = []
    if isinstance(found, list):
        parts += (_fitting(part, Part) for part in found)
    rest = {key: value for key, value in candidate.items() if key != "content"}
    whole = _fitting(rest, Candidate)
    whole.content = Content(parts=parts)
    return whole


def _fitting(value: Any, kind: type[S]) -> S:
    """Returns ``value`` as ``kind``, without the fields that do not fit."""
    kept: Json = {}
    for name, inner in value.items() if isinstance(value, dict) else ():
        try:
            msgspec.convert({name: inner}, kind, strict=False)
        except msgspec.ValidationError:
            continue
        kept[name] = inner
    return msgspec.convert(kept, kind, strict=False)


class UsageCounter:
    """The tokens of one response. Every event reports totals; they are summed up when read."""

    def __init__(self) -> None:
        self._prompt = self._tool_prompt = self._cached = self._said = 0
        self._thoughts: int | None = None
        self._usage: Usage | None = Usage()

    def take(self, counts: UsageMetadata) -> None:
        """Take the counts of an event; missing ones keep their earlier value."""
        self._usage = None
        if counts.prompt_token_count is not None:
            self._prompt = counts.prompt_token_count
        if counts.candidates_token_count is not None:
            self._said = counts.candidates_token_count
        if counts.cached_content_token_count is not None:
            self._cached = counts.cached_content_token_count
        if counts.tool_use_prompt_token_count is not None:
            self._tool_prompt = counts.tool_use_prompt_token_count
        if counts.thoughts_token_count is not None:
            self._thoughts = counts.thoughts_token_count

    def usage(self) -> Usage:
        """Returns the tokens so far; the same object until an event has new counts."""
        if self._usage is None:
            self._usage = Usage(
                input=max(self._prompt + self._tool_prompt - self._cached, 0),
                output=self._said + (self._thoughts or 0),
                cache_read=self._cached,
                reasoning=UNSET if self._thoughts is None else self._thoughts,
            )
        return self._usage

"""Events of Google and their decoded answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET

from pi.ai.builder import MessageBuilder
from pi.ai.errors import ProviderError
from pi.ai.messages import AssistantMessage, Json, Tool
from pi.ai.models.model import Model
from pi.ai.wire.google_generate.response import GenerateDecoder

MODEL = Model(id="gemini-3-flash", name="Flash", api="google-generative-ai", provider="google")
EDIT = Tool(
    name="edit",
    description="change files",
    parameters={"type": "object", "properties": {"edits": {"type": "array"}, "a.b": {}}},
)


def chunk(*parts: Any, finish: str | None = None, **rest: Any) -> Json:
    """An event."""
    candidate: Json = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], **rest}


def called(name: str, args: Any = UNSET, **rest: Any) -> Json:
    """A part of an event: a call."""
    call = {"name": name, **({} if args is UNSET else {"args": args}), **rest}
    return {"functionCall": call}


def new_decoder(*tools: Tool) -> tuple[GenerateDecoder, MessageBuilder]:
    """Return a decoder and its builder."""
    builder = MessageBuilder(MODEL, now_ms=0xABC)
    return GenerateDecoder(builder, tools), builder


def answer(*events: Json | bytes, tools: tuple[Tool, ...] = ()) -> AssistantMessage:
    """Return the finished answer of ``events``."""
    decoder, builder = new_decoder(*tools)
    for event in events:
        assert not decoder.finished
        decoder.feed([("", event if isinstance(event, bytes) else json.dumps(event).encode())])
    if not decoder.finished:
        decoder.end()
    assert decoder.finished
    assert builder.final is not None
    return builder.final


def failure(*events: Json) -> tuple[ProviderError, AssistantMessage]:
    """Return the error raised by the last of ``events`` or by the end, and the partial answer."""
    decoder, builder = new_decoder()
    *before, last = (json.dumps(event).encode() for event in events)
    for event in before:
        decoder.feed([("", event)])
    with pytest.raises(ProviderError) as caught:
        decoder.feed([("", last)])
        decoder.end()
    return caught.value, builder.message()

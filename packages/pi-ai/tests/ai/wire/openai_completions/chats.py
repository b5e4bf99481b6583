"""Calls to a model and answers of a server, for the tests of this wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from pi.ai.builder import MessageBuilder
from pi.ai.errors import ProviderError
from pi.ai.events import StreamEvent
from pi.ai.json_text import json_bytes
from pi.ai.messages import (
    AssistantMessage,
    Image,
    Json,
    Message,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pi.ai.models.model import Model
from pi.ai.request import Access, Call, StreamOptions
from pi.ai.wire.openai_completions.response import ChatDecoder
from tests.ai.wire.grammar import check_events

API = "openai-completions"
DONE = b"[DONE]"
PEEK = Tool(
    name="peek",
    description="look at it",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
        "additionalProperties": False,
    },
)


def model_with(compat: Json | None = None, **fields: object) -> Model:
    """A local model with reasoning and image input, unless ``fields`` differ."""
    return msgspec.convert(
        {
            "id": "m",
            "name": "M",
            "api": API,
            "provider": "local-server",
            "baseUrl": "http://127.0.0.1:9/v1",
            "reasoning": True,
            "input": ["text", "image"],
            "maxTokens": 9000,
            "compat": compat or {},
            **fields,
        },
        Model,
    )


MODEL = model_with()


def call_with(
    *messages: Message,
    model: Model = MODEL,
    options: StreamOptions | None = None,
    key: str | None = "KEY",
) -> Call:
    """A request with ``messages``, or with a greeting."""
    return Call(
        model=model,
        messages=messages or (UserMessage(content="hi"),),
        options=options or StreamOptions(),
        access=Access(api_key=key),
    )


def answered(*blocks: Text | Thinking | ToolCall, model: Model = MODEL) -> AssistantMessage:
    """An answer of ``model``."""
    return AssistantMessage(
        content=blocks,
        api=model.api,
        provider=model.provider,
        model=model.id,
        stop_reason="toolUse",
    )


def peeked(id: str, **arguments: object) -> ToolCall:
    """A call of the tool."""
    return ToolCall(id=id, name="peek", arguments=arguments)


def resulted(id: str, *blocks: Text | Image) -> ToolResultMessage:
    """The result of the tool."""
    return ToolResultMessage(tool_call_id=id, tool_name="peek", content=blocks)


@dataclass(frozen=True)
class Answer:
    """The decoded answer of some events."""

    message: AssistantMessage
    events: tuple[StreamEvent, ...]
    failure: ProviderError | None
    finished: bool
    """Whether it was finished before the stream ended."""


def decoded(
    *events: bytes, call: Call | None = None, inputs: Mapping[str, str] | None = None
) -> Answer:
    """The answer in ``events``, after which the connection closes."""
    call = call or call_with()
    builder = MessageBuilder(call.model, now_ms=0)
    builder.start()
    decoder = ChatDecoder(call, builder, inputs or {})
    finished = False
    try:
        for event in events:
            decoder.feed([("", event)])
            if finished := decoder.finished:
                break
        if not finished:
            decoder.end()
    except ProviderError as error:
        builder.fail(error)
    emitted = builder.take()
    return Answer(check_events(emitted), tuple(emitted), builder.failure, finished)


def chunk(delta: Json | None = None, finish: str | None = None, **fields: object) -> bytes:
    """An event with one choice."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return json_bytes({"id": "chatcmpl-1", "model": "m", "choices": [choice], **fields})


def says(*texts: str) -> list[bytes]:
    """Events with visible text."""
    return [chunk({"content": text}) for text in texts]


def calls(*pieces: Json) -> bytes:
    """An event with pieces of tool calls."""
    return chunk({"tool_calls": list(pieces)})


def counts(**usage: object) -> bytes:
    """The event that contains only the usage."""
    return json_bytes({"id": "chatcmpl-1", "model": "m", "choices": [], "usage": usage})


STOP = chunk(finish="stop")


def arguments_of(answer: Answer) -> Sequence[Json]:
    """The arguments of all calls, in order."""
    return [call.arguments for call in answer.message.tool_calls]

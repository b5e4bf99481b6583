"""Events for the decoder, and the decoded message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pi.ai.builder import MessageBuilder
from pi.ai.json_text import json_bytes
from pi.ai.messages import AssistantMessage, Json, Text
from pi.ai.models.model import Model
from pi.ai.wire.openai_responses.response import ResponsesDecoder
from tests.ai.wire.openai_responses.talk import MODEL


def event(kind: str, index: int | None = None, **fields: Any) -> Json:
    place = {} if index is None else {"output_index": index}
    return {"type": f"response.{kind}", **place, **fields}


def added(index: int | None, **item: Any) -> Json:
    return event("output_item.added", index, item=item)


def done(index: int | None, **item: Any) -> Json:
    return event("output_item.done", index, item=item)


def message(text: str, identifier: str = "msg_1", **more: Any) -> Json:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": identifier, "content": [part], **more}


def reasoning(identifier: str = "rs_1", *summary: str, **more: Any) -> Json:
    parts = [{"type": "summary_text", "text": text} for text in summary]
    return {"type": "reasoning", "id": identifier, "summary": parts, **more}


def function(arguments: Any = "", item: str = "fc_1", call: str = "call_1", **more: Any) -> Json:
    shape = {"type": "function_call", "id": item, "call_id": call, "name": "peek"}
    return {**shape, "arguments": arguments, **more}


def completed(*output: Any, status: str = "completed", **response: Any) -> Json:
    return event(status, response={"id": "resp_1", "status": status, "output": output, **response})


COMPLETED = completed()


def decoder(
    model: Model = MODEL, text_arguments: Mapping[str, str] | None = None
) -> tuple[ResponsesDecoder, MessageBuilder]:
    builder = MessageBuilder(model, now_ms=1)
    return ResponsesDecoder(builder, text_arguments), builder


def decoded(
    *events: Json | bytes, text_arguments: Mapping[str, str] | None = None, model: Model = MODEL
) -> AssistantMessage:
    """The finished message; the events must finish it."""
    reader, builder = decoder(model, text_arguments)
    for each in events:
        assert not reader.finished
        reader.feed([("", each if isinstance(each, bytes) else json_bytes(each))])
    assert reader.finished
    assert builder.final is not None
    return builder.final


def content(*events: Json | bytes, **options: Any) -> list[Any]:
    """The blocks of the finished message, without text signatures."""
    return [
        Text(text=block.text) if isinstance(block, Text) else block
        for block in decoded(*events, **options).content
    ]

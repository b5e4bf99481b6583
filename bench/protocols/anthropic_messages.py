"""Anthropic messages: ``POST …/messages``. Pure."""

from __future__ import annotations

from functools import lru_cache

from bench.protocols.script import Json, Text, ToolCall, answer, offers_in
from bench.protocols.wire import REQUEST_ID, Question, Reply, Wire, event

_KINDS = {400: "invalid_request_error", 404: "not_found_error"}


def stream(question: Question) -> Reply:
    """The answer as one content block between the start and the stop of its message."""
    content = _answer(question)
    started = _message(question) | {"usage": _input_usage(question) | {"output_tokens": 1}}
    return Reply(
        opening=(
            _named({"type": "message_start", "message": started}),
            _named({"type": "content_block_start", "index": 0, "content_block": _empty(content)}),
            _named({"type": "ping"}),
        ),
        deltas=_delta_events(content),
        closing=(
            _named({"type": "content_block_stop", "index": 0}),
            _named(
                {
                    "type": "message_delta",
                    "delta": {"stop_reason": _stop_reason(content), "stop_sequence": None},
                    "usage": _usage(question, content),
                }
            ),
            _named({"type": "message_stop"}),
        ),
    )


def whole(question: Question) -> Json:
    """The answer in one piece."""
    content = _answer(question)
    return _message(question) | {
        "content": [_block(content)],
        "stop_reason": _stop_reason(content),
        "usage": _usage(question, content),
    }


def problem(status: int, message: str, code: str | None) -> Json:
    """The error body of the service, which has a kind and no code."""
    error = {"type": _KINDS[status], "message": message}
    return {"type": "error", "error": error, "request_id": REQUEST_ID}


def _answer(question: Question) -> Text | ToolCall:
    messages = question.listed("messages")
    blocks = [block for message in messages for block in _blocks(message)]
    return answer(
        question.script,
        turn=len(messages),
        results=sum(block.get("type") == "tool_result" for block in blocks),
        offers=offers_in(question.listed("tools"), schema_key="input_schema"),
    )


def _blocks(message: Json) -> list[Json]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _named(data: Json) -> bytes:
    return event(data, name=data["type"])


@lru_cache(maxsize=16)
def _delta_events(content: Text | ToolCall) -> tuple[bytes, ...]:
    return tuple(
        _named({"type": "content_block_delta", "index": 0, "delta": _delta(content, piece)})
        for piece in content.deltas
    )


def _delta(content: Text | ToolCall, piece: str) -> Json:
    if isinstance(content, Text):
        return {"type": "text_delta", "text": piece}
    return {"type": "input_json_delta", "partial_json": piece}


def _empty(content: Text | ToolCall) -> Json:
    """The content block before its first delta."""
    blank: Json = {"text": ""} if isinstance(content, Text) else {"input": {}}
    return _block(content) | blank


def _block(content: Text | ToolCall) -> Json:
    match content:
        case Text():
            return {"type": "text", "text": content.whole}
        case ToolCall():
            return {
                "type": "tool_use",
                "id": f"toolu_{content.turn}",
                "name": content.name,
                "input": content.arguments,
            }


def _message(question: Question) -> Json:
    return {
        "id": f"msg_{len(question.listed('messages'))}",
        "type": "message",
        "role": "assistant",
        "model": question.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _stop_reason(content: Text | ToolCall) -> str:
    return "end_turn" if isinstance(content, Text) else "tool_use"


def _input_usage(question: Question) -> Json:
    return {
        "input_tokens": question.prompt_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }


def _usage(question: Question, content: Text | ToolCall) -> Json:
    return _input_usage(question) | {"output_tokens": len(content.deltas)}


WIRE = Wire(
    path="/messages",
    required=("model", "max_tokens", "messages"),
    request_id_header="request-id",
    stream=stream,
    whole=whole,
    problem=problem,
)

"""OpenAI chat completions: ``POST …/chat/completions``. Pure."""

from __future__ import annotations

from functools import lru_cache

from bench.protocols.openai_errors import problem
from bench.protocols.script import Json, Text, ToolCall, answer, offers_in
from bench.protocols.wire import CREATED, Question, Reply, Wire, event

_DONE = b"data: [DONE]\n\n"


def stream(question: Question) -> Reply:
    """The answer as chunks, with the usage in a separate chunk if it is requested."""
    content = _answer(question)
    with_usage = _wants_usage(question)
    head = _head(question.model, content.turn, with_usage=with_usage)
    first: Json = {"role": "assistant", "content": "", "refusal": None}
    if isinstance(content, ToolCall):
        first |= {
            "content": None,
            "tool_calls": [{"index": 0, **_tool_call(content, arguments="")}],
        }
    closing = [event(head | {"choices": [_choice({}, finish=_finish_reason(content))]})]
    if with_usage:
        closing.append(event(head | {"choices": [], "usage": _usage(question, content)}))
    return Reply(
        opening=(event(head | {"choices": [_choice(first)]}),),
        deltas=_delta_events(content, question.model, with_usage=with_usage),
        closing=(*closing, _DONE),
    )


def whole(question: Question) -> Json:
    """The answer in one piece."""
    content = _answer(question)
    message: Json = {"role": "assistant", "content": None, "refusal": None, "annotations": []}
    match content:
        case Text():
            message["content"] = content.whole
        case ToolCall():
            message["tool_calls"] = [_tool_call(content, arguments=content.whole)]
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": _finish_reason(content),
    }
    head = _head(question.model, content.turn, with_usage=True) | {"object": "chat.completion"}
    return head | {"choices": [choice], "usage": _usage(question, content)}


def _answer(question: Question) -> Text | ToolCall:
    messages = question.listed("messages")
    functions = [tool.get("function", {}) for tool in question.listed("tools")]
    return answer(
        question.script,
        turn=len(messages),
        results=sum(message.get("role") == "tool" for message in messages),
        offers=offers_in(functions, schema_key="parameters"),
    )


def _wants_usage(question: Question) -> bool:
    match question.body.get("stream_options"):
        case {"include_usage": True}:
            return True
        case _:
            return False


def _head(model: str, turn: int, *, with_usage: bool) -> Json:
    head: Json = {
        "id": f"chatcmpl-{turn}",
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": model,
        "service_tier": "default",
        "system_fingerprint": "fp_mock",
    }
    return head | {"usage": None} if with_usage else head


@lru_cache(maxsize=16)
def _delta_events(content: Text | ToolCall, model: str, *, with_usage: bool) -> tuple[bytes, ...]:
    head = _head(model, content.turn, with_usage=with_usage)
    return tuple(
        event(head | {"choices": [_choice(_delta(content, piece))]}) for piece in content.deltas
    )


def _delta(content: Text | ToolCall, piece: str) -> Json:
    if isinstance(content, Text):
        return {"content": piece}
    return {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}


def _choice(delta: Json, *, finish: str | None = None) -> Json:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _tool_call(call: ToolCall, *, arguments: str) -> Json:
    return {
        "id": f"call_{call.turn}",
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }


def _finish_reason(content: Text | ToolCall) -> str:
    return "stop" if isinstance(content, Text) else "tool_calls"


def _usage(question: Question, content: Text | ToolCall) -> Json:
    output_tokens = len(content.deltas)
    return {
        "prompt_tokens": question.prompt_tokens,
        "completion_tokens": output_tokens,
        "total_tokens": question.prompt_tokens + output_tokens,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


WIRE = Wire(
    path="/chat/completions",
    required=("model", "messages"),
    request_id_header="x-request-id",
    stream=stream,
    whole=whole,
    problem=problem,
)

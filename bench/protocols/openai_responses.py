"""OpenAI responses: ``POST …/responses``. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from bench.protocols.openai_errors import problem
from bench.protocols.script import Json, Text, ToolCall, answer, offers_in
from bench.protocols.wire import CREATED, Question, Reply, Wire, event

_ECHOED: Json = {
    "background": False,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "service_tier": "default",
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}
"""Request fields that the response object repeats, with the value of an absent one."""


def stream(question: Question) -> Reply:
    """The answer as the typed, numbered events of one output item."""
    content = _answer(question)
    opening = list(_opening(question, content))
    closing = _closing(question, content)
    deltas = _delta_events(content, len(opening))
    after = len(opening) + len(deltas)
    return Reply(
        opening=tuple(_numbered(data, number) for number, data in enumerate(opening)),
        deltas=deltas,
        closing=tuple(_numbered(data, number) for number, data in enumerate(closing, after)),
    )


def whole(question: Question) -> Json:
    """The answer in one piece."""
    return _response(question, _answer(question), status="completed")


def _answer(question: Question) -> Text | ToolCall:
    items = question.listed("input")
    return answer(
        question.script,
        turn=len(items),
        results=sum(item.get("type") == "function_call_output" for item in items),
        offers=offers_in(question.listed("tools"), schema_key="parameters"),
    )


def _opening(question: Question, content: Text | ToolCall) -> Iterator[Json]:
    started = _response(question, content, status="in_progress")
    yield {"type": "response.created", "response": started}
    yield {"type": "response.in_progress", "response": started}
    item = _item(content, status="in_progress")
    yield {"type": "response.output_item.added", "output_index": 0, "item": item}
    if isinstance(content, Text):
        yield {"type": "response.content_part.added", **_place(content), "part": _part("")}


@lru_cache(maxsize=16)
def _delta_events(content: Text | ToolCall, first: int) -> tuple[bytes, ...]:
    head: Json
    if isinstance(content, Text):
        head = {"type": "response.output_text.delta", **_place(content), "logprobs": []}
    else:
        head = {"type": "response.function_call_arguments.delta", **_place(content)}
    return tuple(
        _numbered(head | {"delta": piece}, number)
        for number, piece in enumerate(content.deltas, first)
    )


def _closing(question: Question, content: Text | ToolCall) -> Iterator[Json]:
    place = _place(content)
    match content:
        case Text():
            yield {
                "type": "response.output_text.done",
                **place,
                "text": content.whole,
                "logprobs": [],
            }
            yield {"type": "response.content_part.done", **place, "part": _part(content.whole)}
        case ToolCall():
            yield {
                "type": "response.function_call_arguments.done",
                **place,
                "name": content.name,
                "arguments": content.whole,
            }
    item = _item(content, status="completed")
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    finished = _response(question, content, status="completed")
    yield {"type": "response.completed", "response": finished}


def _numbered(data: Json, number: int) -> bytes:
    return event(data | {"sequence_number": number}, name=data["type"])


def _place(content: Text | ToolCall) -> Json:
    """The fields that place an event in the response."""
    if isinstance(content, Text):
        return {"item_id": f"msg_{content.turn}", "output_index": 0, "content_index": 0}
    return {"item_id": f"fc_{content.turn}", "output_index": 0}


def _part(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _item(content: Text | ToolCall, *, status: str) -> Json:
    """The output item, empty while it is in progress."""
    done = status == "completed"
    match content:
        case Text():
            return {
                "id": f"msg_{content.turn}",
                "type": "message",
                "status": status,
                "role": "assistant",
                "content": [_part(content.whole)] if done else [],
            }
        case ToolCall():
            return {
                "id": f"fc_{content.turn}",
                "type": "function_call",
                "status": status,
                "call_id": f"call_{content.turn}",
                "name": content.name,
                "arguments": content.whole if done else "",
            }


def _response(question: Question, content: Text | ToolCall, *, status: str) -> Json:
    """The response object: without output and usage while it is in progress."""
    done = status == "completed"
    echoed = {name: question.body.get(name, value) for name, value in _ECHOED.items()}
    return echoed | {
        "id": f"resp_{content.turn}",
        "object": "response",
        "created_at": CREATED,
        "completed_at": CREATED if done else None,
        "status": status,
        "model": question.model,
        "error": None,
        "incomplete_details": None,
        "output": [_item(content, status=status)] if done else [],
        "usage": _usage(question, content) if done else None,
    }


def _usage(question: Question, content: Text | ToolCall) -> Json:
    output_tokens = len(content.deltas)
    return {
        "input_tokens": question.prompt_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": question.prompt_tokens + output_tokens,
    }


WIRE = Wire(
    path="/responses",
    required=("model", "input"),
    request_id_header="x-request-id",
    stream=stream,
    whole=whole,
    problem=problem,
)

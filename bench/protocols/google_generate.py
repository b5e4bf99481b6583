"""Google Gemini: ``POST …/models/MODEL:streamGenerateContent``. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import msgspec

from bench.protocols.script import Json, Text, ToolCall, answer, offers_in
from bench.protocols.wire import Question, Reply, Wire

_KINDS = {400: "INVALID_ARGUMENT", 404: "NOT_FOUND"}


def stream(question: Question) -> Reply:
    """The answer as pieces of one response, each with the usage so far; a tool call comes whole."""
    content = _answer(question)
    deltas, last = content.deltas, Json(text="")
    if isinstance(content, ToolCall):
        deltas, last = (), Json(functionCall={"name": content.name, "args": content.arguments})
    return Reply(
        opening=(),
        deltas=_delta_events(deltas, question.model, question.prompt_tokens),
        closing=(
            _event(question.model, question.prompt_tokens, len(content.deltas), last, "STOP"),
        ),
    )


def problem(status: int, message: str, code: str | None) -> Json:
    """The error body of the service, whose code is the HTTP status."""
    return {"error": {"code": status, "message": message, "status": _KINDS[status]}}


def _answer(question: Question) -> Text | ToolCall:
    contents = question.listed("contents")
    return answer(
        question.script,
        turn=len(contents),
        results=sum("functionResponse" in part for part in _parts(contents)),
        offers=offers_in(_declarations(question), schema_key="parametersJsonSchema"),
    )


def _parts(contents: list[Json]) -> Iterator[Json]:
    for content in contents:
        yield from content.get("parts") or ()


def _declarations(question: Question) -> Iterator[Json]:
    for tool in question.listed("tools"):
        yield from tool.get("functionDeclarations") or ()


@lru_cache(maxsize=16)
def _delta_events(deltas: tuple[str, ...], model: str, prompt_tokens: int) -> tuple[bytes, ...]:
    return tuple(
        _event(model, prompt_tokens, number, {"text": piece})
        for number, piece in enumerate(deltas, 1)
    )


def _event(
    model: str, prompt_tokens: int, output_tokens: int, part: Json, finish: str | None = None
) -> bytes:
    """One event; this service ends its lines with CRLF."""
    candidate: Json = {"content": {"parts": [part], "role": "model"}}
    if finish:
        candidate["finishReason"] = finish
    data = {
        "candidates": [candidate | {"index": 0}],
        "usageMetadata": {
            "promptTokenCount": prompt_tokens,
            "candidatesTokenCount": output_tokens,
            "totalTokenCount": prompt_tokens + output_tokens,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": prompt_tokens}],
        },
        "modelVersion": model,
        "responseId": "resp_mock",
    }
    return b"data: " + msgspec.json.encode(data) + b"\r\n\r\n"


WIRE = Wire(
    path=":streamGenerateContent",
    required=("contents",),
    request_id_header="x-request-id",
    stream=stream,
    problem=problem,
)

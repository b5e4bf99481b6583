"""Chooses the answer of the mock server to a request. Pure."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from bench.http_requests import HttpRequest
from bench.protocols import (
    anthropic_messages,
    google_generate,
    model_list,
    openai_chat,
    openai_responses,
)
from bench.protocols.script import Json, UnknownModel, parse
from bench.protocols.wire import REQUEST_ID, Question, Reply, Wire
from pi.base.records import Record

WIRES = (openai_chat.WIRE, openai_responses.WIRE, anthropic_messages.WIRE, google_generate.WIRE)
_BYTES_PER_TOKEN = 4
_MODEL_IN_PATH = re.compile(r"/models/([^/:]+):")


class Whole(Record):
    """An answer in one piece of JSON."""

    status: int
    body: Any
    headers: tuple[str, ...] = ()


class Streamed(Record):
    """An answer as a stream of events, its deltas at ``rate`` per second if that is given."""

    reply: Reply
    rate: int | None
    headers: tuple[str, ...]


class Refusal(Exception):
    """The request is answered with an error."""

    def __init__(self, status: int, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code


def answer(request: HttpRequest) -> Whole | Streamed:
    """The answer to a request. An invalid one gets the error body of its protocol."""
    wire = next((wire for wire in WIRES if request.path.endswith(wire.path)), None)
    is_anthropic = b"anthropic-version" in request.headers or wire is anthropic_messages.WIRE
    try:
        match request.method:
            case "GET" if request.path.endswith("/models"):
                return Whole(
                    status=200,
                    body=model_list.anthropic() if is_anthropic else model_list.openai(),
                )
            case "POST" if wire:
                return _ask(wire, request)
        url = f"{request.method} {request.path}"
        raise Refusal(404, f"Unknown request URL: {url}", code="unknown_url")
    except Refusal as refusal:
        speaker = anthropic_messages.WIRE if is_anthropic else wire or openai_chat.WIRE
        body = speaker.problem(refusal.status, refusal.message, refusal.code)
        return Whole(status=refusal.status, body=body)


def _ask(wire: Wire, request: HttpRequest) -> Whole | Streamed:
    question = _question(wire, request)
    headers = (f"{wire.request_id_header}: {REQUEST_ID}",)
    if wire.whole is None or question.body.get("stream"):
        reply = wire.stream(question)
        return Streamed(reply=reply, rate=question.script.rate, headers=headers)
    return Whole(status=200, body=wire.whole(question), headers=headers)


def _question(wire: Wire, request: HttpRequest) -> Question:
    body = _json_object(request.body)
    for name in wire.required:
        if name not in body:
            raise Refusal(
                400, f"Missing required parameter: '{name}'.", code="missing_required_parameter"
            )
    named = _MODEL_IN_PATH.search(request.path)
    model = named[1] if named else str(body["model"])
    try:
        script = parse(model)
    except UnknownModel as error:
        raise Refusal(
            404, f"The model '{model}' does not exist.", code="model_not_found"
        ) from error
    tokens = len(request.body) // _BYTES_PER_TOKEN
    return Question(model=model, script=script, body=body, prompt_tokens=tokens)


def _json_object(data: bytes | bytearray) -> Json:
    try:
        body = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refusal(400, f"The body of the request is not valid JSON: {error}") from error
    if not isinstance(body, dict):
        raise Refusal(400, "The body of the request is not a JSON object.")
    return body

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from pi.ai.builder import MessageBuilder
from pi.ai.errors import BadRequest
from pi.ai.event_stream import EventStream
from pi.ai.http.client import HttpClient
from pi.ai.messages import AssistantMessage, Json
from pi.ai.request import Call
from pi.ai.wire.openai_responses import answer
from pi.ai.wire_support.exchange import Services
from pi.base.records import replace
from pi.base.testing import FakeClock
from tests.ai.http.raw_server import Peer, raw_server
from tests.ai.wire.conformance import recording
from tests.ai.wire.openai_responses import talk
from tests.ai.wire.openai_responses.talk import call, model, own, system, thought, tool, user

OK = recording("openai-responses", "usage_cache")
REFUSED_THOUGHT = {"message": "cannot verify", "code": "invalid_encrypted_content"}
REFUSED_SCHEMA = {"message": "Invalid schema for function 'peek'"}


def refusal(error: Json) -> bytes:
    body = json.dumps({"error": error}).encode()
    head = f"HTTP/1.1 400 Bad Request\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


@asynccontextmanager
async def server(*responses: bytes) -> AsyncIterator[tuple[str, list[Json]]]:
    """A server with these responses, and its received bodies."""
    bodies: list[Json] = []
    left = list(responses)

    async def script(peer: Peer) -> None:
        while left:
            asked = await peer.request()
            bodies.append(json.loads(asked.partition(b"\r\n\r\n")[2]))
            response = left.pop(0)
            await peer.send(response)
            if response is OK:
                return await peer.hang_up()
        return await peer.gone()

    async with raw_server(script) as listening:
        yield listening.url + "v1", bodies


async def asked(
    call: Call, base_url: str, environ: Mapping[str, str] | None = None
) -> tuple[AssistantMessage, EventStream]:
    """The answer to ``call`` from ``base_url``."""
    clock = FakeClock()
    call = replace(call, model=replace(call.model, base_url=base_url))
    async with HttpClient(environ={}) as http:
        services = Services(http=http, clock=clock, environ=environ or {})
        stream = EventStream(
            MessageBuilder(call.model, now_ms=clock.now_ms()),
            lambda builder, flush: answer(call, builder, flush, services),
        )
        message = await stream.result()
        await services.close()
    return message, stream


@pytest.mark.behaviour("rejected-signature-heals")
async def test_rejected_thinking_is_removed_and_never_sent_again() -> None:
    history = (user("a"), own(thought(encrypted_content="E"), "so"), user("b"))

    async with server(refusal(REFUSED_THOUGHT), OK) as (url, bodies):
        message, _ = await asked(call(*history), url)
    async with server(OK) as (url, later):
        await asked(call(*history, message, user("c")), url)

    assert message.stop_reason == "stop"
    assert message.text == "ok"
    assert [note["type"] for note in message.diagnostics or ()] == ["thinking_signature_rejected"]
    kinds = [
        [item.get("type", item.get("role")) for item in body["input"]] for body in (*bodies, *later)
    ]
    assert kinds == [
        ["user", "reasoning", "message", "user"],
        ["user", "message", "user"],
        ["user", "message", "user", "message", "user"],
    ]


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
async def test_a_rejected_schema_is_retried_once_without_strict_mode() -> None:
    strict = model({"supportsStrictMode": True})
    asking = call(system("", tool(sampling=talk.STRICT)), user("a"), model=strict)

    async with server(refusal(REFUSED_SCHEMA), OK) as (url, bodies):
        message, _ = await asked(asking, url)

    assert message.stop_reason == "stop"
    assert [body["tools"][0]["strict"] for body in bodies] == [True, False]


async def test_a_second_rejection_is_not_retried() -> None:
    asking = call(user("a"), own(thought(encrypted_content="E"), "so"), user("b"))

    async with server(refusal(REFUSED_THOUGHT), refusal(REFUSED_THOUGHT)) as (url, bodies):
        message, stream = await asked(asking, url)

    assert isinstance(stream.failure, BadRequest)
    assert message.stop_reason == "error"
    assert len(bodies) == 2

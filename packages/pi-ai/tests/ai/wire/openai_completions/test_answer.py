from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Literal

import msgspec
import pytest

from pi.ai.builder import MessageBuilder
from pi.ai.errors import BadRequest
from pi.ai.event_stream import EventStream
from pi.ai.http.client import HttpClient
from pi.ai.json_text import json_bytes, json_text
from pi.ai.messages import AssistantMessage, Json, SystemMessage, UserMessage
from pi.ai.request import Call
from pi.ai.wire.openai_completions import answer
from pi.ai.wire_support.exchange import Services
from pi.base.records import replace
from pi.base.testing import FakeClock
from tests.ai.http.raw_server import Peer, ok, raw_server
from tests.ai.wire.openai_completions.chats import PEEK, call_with, model_with
from tests.ai.wire.replay_server import Replay, replaying

GREETING = ok(
    b'data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
    "Content-Type: text/event-stream",
)
ERROR = {
    "message": "Invalid schema for function 'peek'",
    "type": "invalid_request_error",
    "code": "invalid_function_parameters",
}
REFUSAL = json_bytes({"error": ERROR})
REFUSED = b"HTTP/1.1 400 Bad Request\r\nContent-Length: %d\r\n\r\n%s" % (len(REFUSAL), REFUSAL)
STRICT = replace(PEEK, constrained_sampling={"type": "json_schema", "strict": "prefer"})


class Server:
    """A server that sends its responses in order and records the request bodies."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.bodies: list[Json] = []


@asynccontextmanager
async def server(answers: Sequence[bytes]) -> AsyncIterator[Server]:
    left = iter(answers)

    async def script(peer: Peer) -> None:
        while True:
            try:
                request = await peer.request()
            except asyncio.IncompleteReadError:
                return
            body = request.partition(b"\r\n\r\n")[2]
            found.bodies.append(msgspec.json.decode(body))
            await peer.send(next(left))

    async with raw_server(script) as listening:
        found = Server(listening.url.rstrip("/"))
        yield found


async def asked(call: Call) -> tuple[AssistantMessage, EventStream]:
    clock = FakeClock()
    async with asyncio.timeout(30), HttpClient(environ={}) as client:
        services = Services(http=client, clock=clock, environ={})
        builder = MessageBuilder(call.model, now_ms=clock.now_ms())
        stream = EventStream(builder, lambda filled, flush: answer(call, filled, flush, services))
        return await stream.result(), stream


def strict_call(url: str) -> Call:
    model = model_with({"supportsStrictMode": True}, baseUrl=f"{url}/v1")
    system = SystemMessage(content="S", tools_added=(STRICT,))
    return call_with(system, UserMessage(content="hi"), model=model)


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
async def test_rejected_strict_schemas_are_retried_once_as_loose_schemas() -> None:
    async with server([REFUSED, GREETING]) as found:
        message, _ = await asked(strict_call(found.url))

    assert message.text == "ok"
    assert [body["tools"][0]["function"]["strict"] for body in found.bodies] == [True, False]
    assert [note["type"] for note in message.diagnostics or ()] == ["strict_schema_rejected"]


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
async def test_rejected_strict_schemas_are_not_sent_again_in_the_session() -> None:
    async with server([REFUSED, GREETING, GREETING]) as found:
        first = strict_call(found.url)
        message, _ = await asked(first)
        later = (*first.messages, message, UserMessage(content="on"))
        await asked(replace(first, messages=later))

    strict = [body["tools"][0]["function"]["strict"] for body in found.bodies]
    assert strict == [True, False, False]


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
async def test_rejected_loose_schemas_are_not_retried() -> None:
    async with server([REFUSED, REFUSED]) as found:
        message, stream = await asked(strict_call(found.url))

    assert message.stop_reason == "error"
    assert type(stream.failure) is BadRequest
    assert len(found.bodies) == 2


async def test_a_rejected_request_without_strict_schemas_is_not_retried() -> None:
    async with server([REFUSED]) as found:
        call = call_with(model=model_with(baseUrl=f"{found.url}/v1"))
        message, _ = await asked(call)

    assert message.error_message == f"400: {json_text(ERROR)}"
    assert len(found.bodies) == 1


@pytest.mark.behaviour("terminal-event-ends-the-stream")
@pytest.mark.parametrize("ending", ["close", "reset", pytest.param("hold", marks=pytest.mark.full)])
async def test_a_finish_reason_completes_an_answer_without_further_events(
    ending: Literal["close", "reset", "hold"],
) -> None:
    event = b'data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\n'
    pieces = [b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", event]

    async with replaying(Replay(pieces, then=ending)) as found:
        model = model_with({}, baseUrl=f"{found.url}/v1")
        message, _ = await asked(call_with(UserMessage(content="hi"), model=model))

    assert (message.text, message.stop_reason) == ("ok", "stop")

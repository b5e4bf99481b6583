from __future__ import annotations

import json

import pytest

from pi.ai.builder import MessageBuilder
from pi.ai.errors import BadRequest
from pi.ai.http.client import HttpClient
from pi.ai.messages import Json, Message, SystemMessage, Text, Thinking
from pi.ai.request import Access
from pi.ai.wire.bedrock_converse import answer
from pi.ai.wire_support.exchange import Services
from pi.base.records import replace
from pi.base.testing import FakeClock
from tests.ai.http.raw_server import Peer, raw_server
from tests.ai.wire.bedrock_converse.calls import API, HELLO, assistant_message, call, model
from tests.ai.wire.conformance import recording
from tests.ai.wire.fixed_conversation import PEEK

TEXT = recording(API, "text")
THINKING = recording(API, "thinking")


def refusal(sentence: str) -> bytes:
    body = json.dumps({"message": sentence}, separators=(",", ":")).encode()
    head = "HTTP/1.1 400 Bad Request\r\nx-amzn-ErrorType: ValidationException\r\n"
    return f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


REFUSED = refusal("The schema is not valid")
STRICT = replace(PEEK, constrained_sampling={"type": "json_schema", "strict": "prefer"})


TOKEN = {"AWS_BEARER_TOKEN_BEDROCK": "T"}


async def ask(
    *answers: bytes,
    messages: tuple[Message, ...] = (HELLO,),
    strict: bool = False,
    environ: dict[str, str] = TOKEN,
) -> tuple[list[bytes], MessageBuilder]:
    """Send one call, respond with ``answers`` in order; return the requests and the builder."""
    requests: list[bytes] = []

    async def script(peer: Peer) -> None:
        requests.append(await peer.request())
        await peer.send(answers[len(requests) - 1])
        await peer.hang_up()

    async with raw_server(script) as server, HttpClient(environ={}) as client:
        target = model(base_url=server.url, compat={"supportsStrictMode": strict})
        tools = SystemMessage(content="S", tools_added=(STRICT,))
        asked = replace(call(tools, *messages, target=target), access=Access(env=environ))
        clock = FakeClock()
        services = Services(http=client, clock=clock, environ={})
        builder = MessageBuilder(target, now_ms=clock.now_ms())
        try:
            await answer(asked, builder, lambda: None, services)
        except BadRequest as refusal:
            builder.fail(refusal)
    return requests, builder


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
async def test_rejected_strict_tools_are_retried_as_loose_tools() -> None:
    requests, builder = await ask(REFUSED, TEXT, strict=True)

    assert [b'"strict":true' in request for request in requests] == [True, False]
    assert builder.final is not None
    assert builder.final.stop_reason == "stop"
    assert builder.final.diagnostics == (
        {
            "type": "strict_schema_rejected",
            "timestamp": 1_700_000_000_000,
            "error": {"message": '400: {"message":"The schema is not valid"}'},
        },
    )


@pytest.mark.behaviour("rejected-signature-heals")
async def test_a_rejected_signature_is_removed_and_never_sent_again() -> None:
    thought = Thinking(thinking="hm", thinking_signature="bad")
    history = (HELLO, assistant_message(thought, Text(text="so")), HELLO)

    requests, builder = await ask(refusal("Invalid `signature`"), THINKING, messages=history)
    assert builder.final is not None
    later, _ = await ask(TEXT, messages=(*history, builder.final, HELLO))

    assert [note["type"] for note in builder.final.diagnostics or ()] == [
        "thinking_signature_rejected"
    ]
    assert [answer_kinds(request) for request in (*requests, *later)] == [
        [["reasoningContent", "text"]],
        [["text"]],
        [["text"], ["reasoningContent", "text"]],
    ]


def answer_kinds(request: bytes) -> list[list[str]]:
    """The kinds of the blocks of every answer in a request."""
    body: Json = json.loads(request.partition(b"\r\n\r\n")[2])
    return [
        [kind for block in message["content"] for kind in block]
        for message in body["messages"]
        if message["role"] == "assistant"
    ]


async def test_rejected_loose_tools_are_not_retried() -> None:
    requests, builder = await ask(REFUSED)

    assert len(requests) == 1
    assert isinstance(builder.failure, BadRequest)


async def test_a_request_is_signed_by_the_injected_clock() -> None:
    environ = {"AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "SK", "AWS_REGION": "eu-west-1"}

    (request,), _ = await ask(TEXT, environ=environ)

    assert b"\r\nX-Amz-Date: 20231114T221320Z\r\n" in request
    assert b"Credential=AK/20231114/eu-west-1/bedrock/aws4_request, " in request

"""Responses that the server stores, and requests that continue them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import pytest

from pi.ai.builder import MessageBuilder
from pi.ai.errors import BadRequest
from pi.ai.event_stream import EventStream
from pi.ai.http.client import HttpClient
from pi.ai.messages import AssistantMessage, Json, Message
from pi.ai.request import Access, Call, StreamOptions
from pi.ai.wire.openai_responses import answer
from pi.ai.wire_support.exchange import Services
from pi.base.testing import FakeClock
from tests.ai.http.raw_server import Peer, ok, raw_server
from tests.ai.wire.openai_responses import talk
from tests.ai.wire.openai_responses.talk import result, system, tool, user
from tests.ai.wire.openai_responses.websocket_server import says

Ask = Callable[..., Awaitable[AssistantMessage]]
ON = {"PI_OPENAI_STATEFUL": "1"}


def frames(*events: Json) -> bytes:
    return ok(b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events))


def calls(response: str) -> bytes:
    item = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "peek",
        "arguments": '{"path":"a"}',
    }
    return frames(
        {"type": "response.created", "response": {"id": response}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": response, "status": "completed"}},
    )


def refused(code: str) -> bytes:
    body = json.dumps({"error": {"message": "no", "code": code}}).encode()
    return b"HTTP/1.1 400 Bad Request\r\nContent-Length: %d\r\n\r\n" % len(body) + body


@asynccontextmanager
async def server(
    *answers: bytes, environ: Mapping[str, str] = ON, host: str = ""
) -> AsyncIterator[tuple[Ask, list[Json]]]:
    """A function that sends requests to a server with these answers, and the received bodies.

    With ``host``, requests for that host reach the server as their proxy.
    """
    bodies: list[Json] = []
    left = list(answers)

    async def script(peer: Peer) -> None:
        bodies.append(json.loads((await peer.request()).partition(b"\r\n\r\n")[2]))
        await peer.send(left.pop(0))
        await peer.hang_up()

    async with raw_server(script) as listening:
        url = f"http://{host}/v1" if host else f"{listening.url}v1"
        clock = FakeClock()
        proxies = {"http_proxy": listening.url} if host else {}
        services = Services(http=HttpClient(environ=proxies), clock=clock, environ=environ)

        async def ask(*messages: Message, **options: object) -> AssistantMessage:
            chosen = {"session_id": "SESSION", **options}
            call = Call(
                model=talk.model(base_url=url),
                messages=messages,
                options=StreamOptions(**chosen),  # type: ignore[arg-type]
                access=Access(api_key="KEY"),
            )
            stream = EventStream(
                MessageBuilder(call.model, now_ms=clock.now_ms()),
                lambda builder, flush: answer(call, builder, flush, services),
            )
            message = await stream.result()
            if stream.failure is not None:
                raise stream.failure
            return message

        try:
            yield ask, bodies
        finally:
            await services.close()


def summary(bodies: list[Json]) -> list[tuple[bool, str | None, list[str]]]:
    """For every request: whether it is stored, the previous response id and its item kinds."""
    return [
        (
            body["store"],
            body.get("previous_response_id"),
            [item.get("role") or item["type"] for item in body["input"]],
        )
        for body in bodies
    ]


A, B, C = (frames(*says(text, f"resp_{text}")) for text in "abc")


async def test_a_turn_that_continues_a_stored_response_sends_only_the_new_items() -> None:
    start = system("You are pi.", tool())

    async with server(calls("resp_1"), B, C) as (ask, bodies):
        first = await ask(start, user("hi"))
        looked = (start, user("hi"), first, result("call_1|fc_1", "text"))
        second = await ask(*looked)
        await ask(*looked, second, user("go on"))

    assert summary(bodies) == [
        (True, None, ["developer", "user"]),
        (True, "resp_1", ["function_call_output"]),
        (True, "resp_b", ["user"]),
    ]
    assert bodies[2]["tools"] == bodies[0]["tools"]


async def test_a_request_that_does_not_continue_the_response_is_sent_completely() -> None:
    async with server(A, B, C) as (ask, bodies):
        first = await ask(system("one"), user("hi"))
        await ask(system("two"), user("hi"), first, user("go"))
        await ask(system("one"), user("hi"), first, user("go"), session_id="OTHER")

    assert [(follows, len(items)) for _, follows, items in summary(bodies)] == [
        (None, 2),
        (None, 4),
        (None, 4),
    ]


@pytest.mark.behaviour("responses-ids-and-lost-state")
async def test_a_request_after_a_lost_response_is_sent_completely_and_storing_stops() -> None:
    gone = refused("previous_response_not_found")

    async with server(A, gone, B, C) as (ask, bodies):
        first = await ask(user("hi"))
        second = await ask(user("hi"), first, user("go"))
        third = await ask(user("hi"), first, user("go"), second, user("on"))

    assert (second.text, third.text) == ("b", "c")
    assert summary(bodies) == [
        (True, None, ["user"]),
        (True, "resp_a", ["user"]),
        (False, None, ["user", "assistant", "user"]),
        (False, None, ["user", "assistant", "user", "assistant", "user"]),
    ]


async def test_another_rejection_of_a_continued_request_raises() -> None:
    async with server(A, refused("unsupported_value")) as (ask, bodies):
        first = await ask(user("hi"))
        with pytest.raises(BadRequest):
            await ask(user("hi"), first, user("go"))

    assert len(bodies) == 2


async def test_a_failed_request_does_not_change_the_chain() -> None:
    async with server(A, refused("unsupported_value"), B) as (ask, bodies):
        first = await ask(user("hi"))
        with pytest.raises(BadRequest):
            await ask(user("hi"), first, user("go"))
        await ask(user("hi"), first, user("go"), user("again"))

    assert summary(bodies)[2] == (True, "resp_a", ["user", "user"])


@pytest.mark.parametrize(
    ("host", "environ", "stored"),
    [
        ("api.openai.com", {}, True),
        ("api.openai.com", {"PI_OPENAI_STATEFUL": "0"}, False),
        ("API.OpenAI.com", {"PI_OPENAI_STATEFUL": ""}, True),
        ("gateway.example", {}, False),
        ("gateway.example", ON, True),
        ("api.openai.com.example", {}, False),
    ],
)
async def test_responses_are_stored_only_at_openai_unless_a_variable_overrides_it(
    host: str, environ: dict[str, str], stored: bool
) -> None:
    async with server(A, environ=environ, host=host) as (ask, bodies):
        await ask(user("hi"))

    assert summary(bodies) == [(stored, None, ["user"])]


@pytest.mark.parametrize(
    "options",
    [
        {"session_id": None},
        {"cache_retention": "none"},
        {"sampling_params": {"store": False}},
    ],
)
async def test_a_call_that_cannot_be_continued_is_not_stored(options: dict[str, object]) -> None:
    async with server(A) as (ask, bodies):
        await ask(user("hi"), **options)

    assert summary(bodies) == [(False, None, ["user"])]


async def test_a_payload_hook_can_prevent_that_a_response_is_stored() -> None:
    async def unstored(payload: Json, _: object) -> Json:
        assert payload["store"] is True
        return {**payload, "store": False}

    async with server(A, B) as (ask, bodies):
        first = await ask(user("hi"), on_payload=unstored)
        await ask(user("hi"), first, user("go"))

    assert summary(bodies) == [
        (False, None, ["user"]),
        (True, None, ["user", "assistant", "user"]),
    ]


async def test_the_least_recently_used_conversation_is_evicted_first() -> None:
    sessions = [str(number) for number in range(33)]

    async with server(*[A] * 35) as (ask, bodies):
        first, *_ = [await ask(user("hi"), session_id=name) for name in sessions]
        for name in ("0", "32"):
            await ask(user("hi"), first, user("go"), session_id=name)

    assert [body.get("previous_response_id") for body in bodies[-2:]] == [None, "resp_a"]

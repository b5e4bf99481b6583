"""Conversations that Anthropic's server keeps, and requests that continue them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from pi.ai.builder import MessageBuilder
from pi.ai.errors import BadRequest, ProviderError
from pi.ai.event_stream import EventStream
from pi.ai.http.client import HttpClient
from pi.ai.messages import AssistantMessage, Json, Message
from pi.ai.request import Access, Call, StreamOptions
from pi.ai.wire.anthropic_messages import answer
from pi.ai.wire.anthropic_messages.threads import BETA
from pi.ai.wire_support.exchange import Services
from pi.base.records import replace
from pi.base.testing import FakeClock
from tests.ai.http.raw_server import Peer, ok, raw_server
from tests.ai.wire.anthropic_messages.talk import model, result, system, tool, user

Ask = Callable[..., Awaitable[AssistantMessage]]
START = system("You are pi.", tool())
ON = {"supportsMessageThreads": True}


def frames(*events: Json) -> bytes:
    lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return ok("".join(lines).encode())


def says(id: str, block: Json, delta: Json, stop: str = "end_turn") -> bytes:
    usage = {"input_tokens": 1, "output_tokens": 1}
    return frames(
        {"type": "message_start", "message": {"id": id, "role": "assistant", "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage},
        {"type": "message_stop"},
    )


def text(id: str) -> bytes:
    return says(id, {"type": "text", "text": ""}, {"type": "text_delta", "text": f"I am {id}."})


CALL = says(
    "msg_0",
    {"type": "tool_use", "id": "call_1", "name": "peek", "input": {}},
    {"type": "input_json_delta", "partial_json": "{}"},
    "tool_use",
)
A, B, C = (text(f"msg_{letter}") for letter in "abc")


def refused(code: str, message: str = "no") -> bytes:
    error = {"type": "invalid_request_error", "message": message, "details": {"error_code": code}}
    body = json.dumps({"type": "error", "error": error}).encode()
    return b"HTTP/1.1 400 Bad Request\r\nContent-Length: %d\r\n\r\n" % len(body) + body


@asynccontextmanager
async def server(*answers: bytes, compat: Json = ON) -> AsyncIterator[tuple[Ask, list[Json]]]:
    """A function that sends requests to a server with these answers, and the received bodies."""
    bodies: list[Json] = []
    left = list(answers)

    async def script(peer: Peer) -> None:
        head, _, body = (await peer.request()).partition(b"\r\n\r\n")
        bodies.append({**json.loads(body), "beta": BETA.encode() in head})
        await peer.send(left.pop(0))
        await peer.hang_up()

    async with raw_server(script) as listening:
        clock = FakeClock()
        services = Services(http=HttpClient(environ={}), clock=clock, environ={})

        async def ask(*messages: Message, session: str | None = "SESSION") -> AssistantMessage:
            call = Call(
                model=model(base_url=listening.url.rstrip("/"), compat=compat),
                messages=messages,
                options=StreamOptions(session_id=session),
                access=Access(api_key="KEY"),
            )
            if session:  # as the provider does
                call = replace(call, kept=services.kept.of(session, call.model.api))
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


def summary(bodies: list[Json]) -> list[tuple[object, int, bool, bool]]:
    """For every request: thread, number of messages, whether it has prompt and tools, the beta."""
    return [
        (
            body.get("thread"),
            len(body["messages"]),
            "system" in body and "tools" in body,
            body["beta"],
        )
        for body in bodies
    ]


CREATE = {"type": "create"}


def following(id: str) -> Json:
    return {"type": "continue", "previous_message_id": id}


async def test_a_thread_is_created_and_continued_with_the_new_messages_only() -> None:
    async with server(CALL, B, C) as (ask, bodies):
        first = await ask(START, user("hi"))
        looked = (START, user("hi"), first, result("call_1", "text"))
        second = await ask(*looked)
        await ask(*looked, second, user("go on"))

    assert summary(bodies) == [
        (CREATE, 1, True, True),
        (following("msg_0"), 1, False, True),
        (following("msg_b"), 1, False, True),
    ]
    assert bodies[1]["messages"][0]["content"][0]["type"] == "tool_result"
    assert "go on" in str(bodies[2]["messages"])


async def test_a_thread_is_continued_after_a_failed_request() -> None:
    failed = b"HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n"
    answers = [text(f"msg_{number}") for number in range(4)]
    talk: list[Message] = [START]
    async with server(*answers[:3], failed, answers[3]) as (ask, bodies):
        for number in range(3):
            talk += [user(f"question {number}")]
            talk += [await ask(*talk)]
        talk += [user("question 3")]
        with pytest.raises(ProviderError):
            await ask(*talk)
        await ask(*talk)

    assert summary(bodies[3:]) == [(following("msg_2"), 1, False, True)] * 2
    assert "question 3" in str(bodies[4]["messages"])


@pytest.mark.parametrize(
    "code",
    [
        "thread_not_found",
        "thread_already_continued",
        "thread_continue_in_flight",
        "thread_fingerprint_mismatch",
    ],
)
async def test_a_lost_thread_is_begun_anew_with_the_whole_conversation(code: str) -> None:
    async with server(A, refused(code), B, C) as (ask, bodies):
        talk = (START, user("hi"), await ask(START, user("hi")), user("on"))
        second = await ask(*talk)
        await ask(*talk, second, user("further"))

    assert summary(bodies) == [
        (CREATE, 1, True, True),
        (following("msg_a"), 1, False, True),
        (CREATE, 3, True, True),
        (following("msg_b"), 1, False, True),
    ]


@pytest.mark.parametrize(
    "refusal",
    [refused("thread_unsupported_request"), refused("", "thread: Extra inputs are not permitted")],
)
async def test_a_server_without_threads_gets_none_for_the_rest_of_the_session(
    refusal: bytes,
) -> None:
    async with server(refusal, A, B, C) as (ask, bodies):
        talk = (START, user("hi"), await ask(START, user("hi")), user("on"))
        await ask(*talk)
        await ask(START, user("another"), session="OTHER")

    assert summary(bodies) == [
        (CREATE, 1, True, True),
        (None, 1, True, False),
        (None, 3, True, False),
        (CREATE, 1, True, True),
    ]


async def test_a_changed_prompt_or_history_begins_a_new_thread() -> None:
    async with server(A, B, C) as (ask, bodies):
        first = await ask(START, user("hi"))
        await ask(system("Be another.", tool()), user("hi"), first, user("on"))
        await ask(START, user("a summary"), user("on"))

    assert [thread for thread, *_ in summary(bodies)] == [CREATE] * 3


async def test_a_request_without_anything_new_does_not_touch_the_thread() -> None:
    async with server(A, B, C) as (ask, bodies):
        talk = (START, user("hi"), await ask(START, user("hi")))
        await ask(*talk)
        await ask(*talk, user("on"))

    assert [thread for thread, *_ in summary(bodies)] == [CREATE, None, following("msg_a")]


async def test_other_refusals_are_raised() -> None:
    async with server(refused("", "prompt is wrong")) as (ask, bodies):
        with pytest.raises(BadRequest):
            await ask(START, user("hi"))
    assert len(bodies) == 1


@pytest.mark.parametrize("compat", [{}, {"supportsMessageThreads": False}])
async def test_threads_are_off_by_default(compat: Json) -> None:
    async with server(A, compat=compat) as (ask, bodies):
        await ask(START, user("hi"))
    assert summary(bodies) == [(None, 1, True, False)]


async def test_a_call_without_a_session_has_no_thread() -> None:
    async with server(A) as (ask, bodies):
        await ask(START, user("hi"), session=None)
    assert summary(bodies) == [(None, 1, True, False)]

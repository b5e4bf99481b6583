from __future__ import annotations

import asyncio

import pytest

from pi.ai.errors import AnswerTooLarge, ProviderUnavailable, RateLimited
from pi.ai.events import Failed
from pi.ai.messages import Json
from pi.ai.wire.openai_responses import codex_sockets
from pi.base.records import replace
from tests.ai.wire.openai_responses import talk
from tests.ai.wire.openai_responses.codex_talk import connected, replying, sent
from tests.ai.wire.openai_responses.talk import system, thought, tool, user
from tests.ai.wire.openai_responses.websocket_server import Side, says

LOST: Json = {"type": "error", "status": 400, "error": {"code": "previous_response_not_found"}}
LIMIT: Json = {
    "type": "error",
    "status": 400,
    "error": {"code": "websocket_connection_limit_reached"},
}


# A conversation ----------------------------------------------------------------------------------


async def test_a_turn_is_sent_and_answered_over_a_websocket() -> None:
    async with connected(replying(says("hello", "resp_1"))) as (server, led):
        message = await led.ask(system("SP"), user("hi"))

    assert (message.text, message.stop_reason, message.response_id) == ("hello", "stop", "resp_1")
    ((_, request),) = server.requests
    assert request["type"] == "response.create"
    assert request["instructions"] == "SP"
    assert not {"stream", "previous_response_id"} & request.keys()
    (headers,) = server.headers
    assert (headers["authorization"], headers["chatgpt-account-id"]) == ("Bearer KEY", "acct")
    assert headers["openai-beta"].startswith("responses_websockets=")
    assert headers["session-id"] == "SESSION"
    assert headers["user-agent"].startswith("pi (")


async def test_the_next_turn_sends_only_the_new_items() -> None:
    async with connected(replying(says("a", "resp_1"), says("b", "resp_2"))) as (server, led):
        first = await led.ask(user("hi"))
        second = await led.ask(user("hi"), first, user("go"))

    assert (first.text, second.text) == ("a", "b")
    assert sent(server) == [(0, None, ["user"]), (0, "resp_1", ["user"])]


async def test_a_changed_history_or_tool_set_is_sent_completely() -> None:
    async with connected(replying(*(says("a", f"resp_{n}") for n in range(3)))) as (server, led):
        first = await led.ask(user("hi"))
        await led.ask(user("ho"), first, user("go"))
        await led.ask(system("", tool()), user("ho"), first, user("go"))

    assert sent(server) == [
        (0, None, ["user"]),
        (0, None, ["user", "assistant", "user"]),
        (0, None, ["user", "assistant", "user"]),
    ]


@pytest.mark.behaviour("codex-websocket-lifetime")
async def test_late_frames_of_an_old_turn_are_ignored() -> None:
    late = (
        *says("late", "resp_1")[1:],
        {"type": "codex.rate_limits"},
        {"type": "response.failed", "response": {"id": "resp_1", "status": "failed"}},
    )
    script = replying((*says("a", "resp_1"), *late), says("b", "resp_2"))

    async with connected(script) as (_, led):
        first = await led.ask(user("hi"))
        second = await led.ask(user("hi"), first, user("go"))

    assert (second.text, second.stop_reason) == ("b", "stop")


# What the server forgets -------------------------------------------------------------------------


@pytest.mark.behaviour("responses-ids-and-lost-state")
@pytest.mark.parametrize(
    "problem",
    [
        LOST,
        LIMIT,
        {"type": "error", "code": "previous_response_not_found", "message": "gone"},
        {
            "type": "response.failed",
            "response": {"id": "r", "error": {"code": "previous_response_not_found"}},
        },
    ],
)
async def test_a_lost_response_is_retried_once_with_the_whole_conversation(problem: Json) -> None:
    scripts = (replying(says("a", "resp_1"), (problem,)), replying(says("b", "resp_2")))

    async with connected(*scripts) as (server, led):
        first = await led.ask(user("hi"))
        second = await led.ask(user("hi"), first, user("go"))

    assert second.text == "b"
    assert sent(server) == [
        (0, None, ["user"]),
        (0, "resp_1", ["user"]),
        (1, None, ["user", "assistant", "user"]),
    ]


async def test_a_socket_that_ends_before_the_answer_is_replaced() -> None:
    async def script(side: Side) -> None:
        await side.request()
        await side.send(*says("a", "resp_1"))
        await side.request()
        side.socket.transport.abort()

    async with connected(script, replying(says("b", "resp_2"))) as (server, led):
        first = await led.ask(user("hi"))
        second = await led.ask(user("hi"), first, user("go"))

    assert (second.text, len(server.connections)) == ("b", 2)


async def test_a_socket_that_closed_while_idle_is_replaced() -> None:
    async def script(side: Side) -> None:
        await side.request()
        await side.send(*says("a", "resp_1"))
        await side.socket.close()

    async with connected(script, replying(says("b", "resp_2"))) as (server, led):
        first = await led.ask(user("hi"))
        await asyncio.wait_for(server.ended[0].wait(), 30)
        second = await led.ask(user("hi"), first, user("go"))

    assert (second.text, len(server.connections)) == ("b", 2)


@pytest.mark.behaviour("rejected-signature-heals")
async def test_rejected_thinking_is_removed_and_retried_over_a_websocket() -> None:
    refused: Json = {
        "type": "error",
        "status": 400,
        "error": {"code": "invalid_encrypted_content", "message": "cannot verify"},
    }

    async with connected(replying((refused,)), replying(says("b", "resp_1"))) as (server, led):
        previous = replace(
            talk.own(thought(encrypted_content="E"), "so"), api="openai-codex-responses"
        )
        message = await led.ask(user("a"), previous, user("b"))

    assert message.text == "b"
    assert [kinds for _, _, kinds in sent(server)] == [
        ["user", "reasoning", "assistant", "user"],
        ["user", "assistant", "user"],
    ]


# What goes wrong ---------------------------------------------------------------------------------


async def test_an_error_before_the_answer_is_the_only_event() -> None:
    problem: Json = {"type": "error", "status": 429, "error": {"code": "rate_limit_exceeded"}}

    async with connected(replying((problem,))) as (server, led):
        stream = led.stream(user("hi"))
        events = [event async for event in stream]

    assert [type(event) for event in events] == [Failed]
    assert isinstance(stream.failure, RateLimited)
    assert len(server.connections) == 1


async def test_a_connection_lost_during_the_answer_keeps_the_partial_answer() -> None:
    async def script(side: Side) -> None:
        await side.request()
        await side.send(*says("part", "resp_1")[:2])
        side.socket.transport.abort()

    async with connected(script) as (_, led):
        stream = led.stream(user("hi"))
        message = await stream.result()

    assert (message.text, message.stop_reason) == ("part", "error")
    assert isinstance(stream.failure, ProviderUnavailable)
    assert stream.failure.retryable


async def test_a_server_that_stops_sending_times_out() -> None:
    async def script(side: Side) -> None:
        await side.request()
        await side.send(*says("part", "resp_1")[:2])

    async with connected(script) as (_, led):
        stream = led.stream(user("hi"), timeout_ms=50)
        message = await stream.result()

    assert (message.text, message.error_message) == ("part", "The server was silent for 0.05 s.")
    assert isinstance(stream.failure, ProviderUnavailable)


async def test_aborting_closes_the_socket_at_once() -> None:
    async def script(side: Side) -> None:
        await side.request()
        await side.send(*says("part", "resp_1")[:2])

    async with connected(script) as (server, led):
        stream = led.stream(user("hi"))
        async for _ in stream:
            if stream.partial.text:
                break
        await stream.aclose()
        await asyncio.wait_for(server.ended[0].wait(), 30)

    assert stream.partial.stop_reason == "aborted"
    assert stream.partial.text == "part"


async def test_a_frame_above_the_limit_ends_the_answer_without_a_retry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(codex_sockets, "LARGEST_EVENT", 1000)

    async def script(side: Side) -> None:
        await side.request()
        await side.send(*says("part", "resp_1")[:2])
        await side.send({"type": "response.output_text.delta", "delta": "x" * 5000})

    async with connected(script) as (server, led):
        stream = led.stream(user("hi"))
        message = await stream.result()

    assert (message.text, message.stop_reason) == ("part", "error")
    assert isinstance(stream.failure, AnswerTooLarge)
    assert not stream.failure.retryable
    assert len(server.connections) == 1

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from pi.ai.errors import ProviderError
from pi.ai.messages import Json
from pi.ai.request import Transport
from pi.base.installation import extra_command
from pi.base.records import replace
from pi.base.testing import FakeClock
from tests.ai.http.raw_server import Peer, raw_server
from tests.ai.wire.conformance import recording
from tests.ai.wire.openai_responses.codex_talk import connected, replying, sent, talking
from tests.ai.wire.openai_responses.talk import user
from tests.ai.wire.openai_responses.websocket_server import Side, backend, says

# Whose socket it is ------------------------------------------------------------------------------


@pytest.mark.behaviour("codex-websocket-lifetime")
async def test_accounts_and_sessions_do_not_share_a_socket() -> None:
    async with connected(replying(says("a", "resp_1"), says("b", "resp_2"))) as (server, led):
        await led.ask(user("hi"))
        await led.ask(user("hi"), session_id="OTHER")
        led.account = "other"
        await led.ask(user("hi"))

    assert [connection for connection, _ in server.requests] == [0, 1, 2]
    assert [headers["chatgpt-account-id"] for headers in server.headers] == [
        "acct",
        "acct",
        "other",
    ]


async def test_concurrent_turns_use_separate_sockets() -> None:
    both = asyncio.Barrier(2)

    async def script(side: Side) -> None:
        await side.request()
        await both.wait()
        await side.send(*says("a", "resp_1"))

    async with connected(script) as (server, led):
        answers = await asyncio.gather(led.ask(user("hi")), led.ask(user("ho")))

    assert [message.text for message in answers] == ["a", "a"]
    assert len(server.connections) == 2


@pytest.mark.behaviour("codex-websocket-lifetime")
async def test_a_socket_is_replaced_before_the_server_closes_it() -> None:
    async with connected(replying(says("a", "resp_1"), says("b", "resp_2"))) as (server, led):
        first = await led.ask(user("hi"))
        await led.clock.advance(54 * 60)
        second = await led.ask(user("hi"), first, user("go"))
        await led.clock.advance(2 * 60)
        await led.ask(user("hi"), first, user("go"), second, user("on"))
        await asyncio.wait_for(server.ended[0].wait(), 30)

    assert sent(server) == [
        (0, None, ["user"]),
        (0, "resp_1", ["user"]),
        (1, None, ["user", "assistant", "user", "assistant", "user"]),
    ]


# Without a WebSocket -----------------------------------------------------------------------------


@asynccontextmanager
async def only_http(status: bytes = b"404") -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server that rejects upgrades and answers requests, and the received methods."""
    seen: list[bytes] = []

    async def script(peer: Peer) -> None:
        asked = await peer.request()
        seen.append(asked.partition(b" ")[0])
        if seen[-1] == b"GET":
            await peer.send(b"HTTP/1.1 %s No\r\nContent-Length: 0\r\n\r\n" % status)
        else:
            await peer.send(recording("openai-responses", "usage_cache"))
        await peer.hang_up()

    async with raw_server(script) as server:
        yield server.url.rstrip("/"), seen


@pytest.mark.behaviour("codex-websocket-lifetime")
@pytest.mark.parametrize(
    ("transport", "expected"),
    [
        ("auto", [b"GET", b"POST", b"POST"]),
        ("websocket", [b"GET", b"POST", b"GET", b"POST"]),
        ("sse", [b"POST", b"POST"]),
    ],
)
async def test_a_refused_upgrade_falls_back_to_http(
    transport: Transport, expected: list[bytes]
) -> None:
    async with only_http() as (url, seen), talking(url) as led:
        first = await led.ask(user("hi"), transport=transport)
        second = await led.ask(user("hi"), first, user("go"), transport=transport)

    assert (first.text, second.text) == ("ok", "ok")
    assert seen == expected


async def test_without_the_websockets_library_auto_uses_http(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "websockets", None)

    async with only_http() as (url, seen), talking(url) as led:
        message = await led.ask(user("hi"))
        refused = led.stream(user("hi"), transport="websocket")
        await refused.result()

    assert (message.text, seen) == ("ok", [b"POST"])
    assert isinstance(refused.failure, ProviderError)
    assert extra_command("codex") in refused.failure.message


@pytest.mark.behaviour("codex-websocket-lifetime")
async def test_closing_the_services_closes_the_sockets() -> None:
    async with backend(replying(says("a", "resp_1"))) as server:
        async with talking(server.url) as led:
            await led.ask(user("hi"))
            assert not server.ended[0].is_set()
        await asyncio.wait_for(server.ended[0].wait(), 30)


async def test_auto_uses_http_after_a_broken_socket() -> None:
    async def script(side: Side) -> None:
        await side.request()
        await side.send(*says("part", "resp_1")[:2])
        side.socket.transport.abort()

    async with backend(script) as server, only_http() as (url, seen), talking(server.url) as led:
        broken = await led.ask(user("hi"))
        led.model = replace(led.model, base_url=url)
        answered = await led.ask(user("hi"))

    assert (broken.text, broken.stop_reason) == ("part", "error")
    assert (answered.text, seen) == ("ok", [b"POST"])


# What variables decide ---------------------------------------------------------------------------


class CountingClock(FakeClock):
    """A clock that does not sleep but records the requested delays."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


async def test_a_socket_that_closes_before_the_answer_is_replaced_after_a_delay() -> None:
    async def gone(side: Side) -> None:
        await side.request()
        side.socket.transport.abort()

    async with connected(gone, gone, replying(says("a", "resp_1"))) as (server, led):
        led.services = replace(led.services, clock=CountingClock())
        answer = await led.ask(user("hi"))

    assert answer.text == "a"
    assert [connection for connection, _ in server.requests] == [0, 1, 2]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, (0.5, 1.0, 2.0, 4.0, 8.0)),
        ({"PI_CODEX_WEBSOCKET_RETRY_BUDGET": "0"}, ()),
        ({"PI_CODEX_WEBSOCKET_RETRY_BUDGET": "2"}, (0.5, 1.0)),
        ({"PI_CODEX_WEBSOCKET_RETRY_BUDGET": "-1"}, (0.5, 1.0, 2.0, 4.0, 8.0)),
        (
            {
                "PI_CODEX_WEBSOCKET_RETRY_BUDGET": "2",
                "PI_CODEX_WEBSOCKET_RETRY_DELAY_MS": "100",
            },
            (0.1, 0.2),
        ),
        (
            {
                "PI_CODEX_WEBSOCKET_RETRY_BUDGET": "1",
                "PI_CODEX_WEBSOCKET_RETRY_DELAY_MS": "0",
            },
            (0.5,),
        ),
    ],
)
async def test_variables_set_the_number_and_delay_of_connection_retries(
    environ: dict[str, str], expected: tuple[float, ...]
) -> None:
    clock = CountingClock()

    async with raw_server(refuse) as refusing, talking(refusing.url.rstrip("/"), environ) as led:
        led.services = replace(led.services, clock=clock)
        await led.ask(user("hi"))

    assert tuple(clock.waits) == expected


async def refuse(peer: Peer) -> None:
    """Reset every connection before a byte is sent."""
    peer.reset()


@pytest.mark.parametrize(("status", "waits"), [(b"503", 5), (b"501", 0), (b"426", 0)])
async def test_an_upgrade_is_retried_only_after_a_temporary_rejection(
    status: bytes, waits: int
) -> None:
    clock = CountingClock()

    async with only_http(status) as (url, seen), talking(url) as led:
        led.services = replace(led.services, clock=clock)
        answer = await led.ask(user("hi"))

    assert (answer.text, len(clock.waits)) == ("ok", waits)
    assert seen == [b"GET"] * (waits + 1) + [b"POST"]


async def test_a_preferred_websocket_is_tried_again_after_it_failed() -> None:
    preferred = {"PI_CODEX_WEBSOCKET": "1"}

    async with only_http() as (url, seen), talking(url, preferred) as led:
        first = await led.ask(user("hi"))
        await led.ask(user("hi"), first, user("go"))
        await led.ask(user("hi"), transport="sse")

    assert seen == [b"GET", b"POST", b"GET", b"POST", b"POST"]


async def test_a_variable_sets_the_idle_timeout_of_the_websocket() -> None:
    async def silent(side: Side) -> None:
        await side.request()
        await side.send(*says("part", "resp_1")[:2])

    limit = {"PI_CODEX_WEBSOCKET_IDLE_TIMEOUT_MS": "50"}
    async with backend(silent) as server, talking(server.url, limit) as led:
        broken = await led.ask(user("hi"))

    assert (broken.text, broken.stop_reason) == ("part", "error")
    assert broken.error_message == "The server was silent for 0.05 s."


async def test_an_overloaded_server_does_not_disable_the_websocket() -> None:
    overloaded: Json = {"type": "error", "status": 503, "error": {"code": "server_is_overloaded"}}

    async with connected(replying((overloaded,)), replying(says("a", "resp_1"))) as (server, led):
        refused = await led.ask(user("hi"))
        answered = await led.ask(user("hi"))

    assert (refused.stop_reason, answered.text) == ("error", "a")
    assert len(server.connections) == 2

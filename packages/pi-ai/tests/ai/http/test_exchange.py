from __future__ import annotations

import asyncio
import socket
import ssl

import pytest

from pi.ai.http.client import HttpClient
from pi.ai.http.connection import Connection
from pi.ai.http.errors import ConnectionLost, TimedOut
from pi.ai.http.exchange import HttpExchange
from pi.ai.http.request import NO_TIMEOUTS, HttpRequest, Timeouts
from tests.ai.http.raw_server import OK_EMPTY, Peer, answering, ok, raw_server

LARGE = bytes(range(256)) * 40_000


async def test_a_response_that_does_not_begin_raises_the_first_byte_timeout(
    client: HttpClient,
) -> None:
    request_timeouts = Timeouts(first_byte=0.05, idle=None)
    async with raw_server(answering(b"")) as server:
        with pytest.raises(TimedOut) as caught:
            await client.request(HttpRequest(url=server.url, timeouts=request_timeouts))

    assert caught.value.kind == "first_byte"
    assert str(caught.value) == (
        f"127.0.0.1:{server.port} was silent for 0.05 s (first-byte timeout)."
    )


@pytest.mark.parametrize(
    "response", [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/", ok(b"whole")[:-1]]
)
async def test_silence_after_the_first_byte_raises_the_idle_timeout(
    client: HttpClient, response: bytes
) -> None:
    timeouts = Timeouts(first_byte=None, idle=0.05)
    async with raw_server(answering(response)) as server:
        with pytest.raises(TimedOut) as caught:
            await client.request(HttpRequest(url=server.url, timeouts=timeouts))

    assert caught.value.kind == "idle"


async def test_the_idle_timeout_can_be_shortened_while_a_body_is_read(client: HttpClient) -> None:
    async with raw_server(answering(ok(b"whole")[:-1])) as server:
        request = HttpRequest(url=server.url, timeouts=NO_TIMEOUTS)
        with pytest.raises(TimedOut) as caught:
            async with client.stream(request) as response:
                async for chunk in response.chunks():
                    assert chunk == b"whol"
                    response.exchange.allow_silence(0.05)

    assert caught.value.kind == "idle"


async def slow(peer: Peer) -> None:
    await peer.request()
    for piece in (b"HTTP/1.1 200 OK\r\n", b"Content-Length: 2\r\n\r\n", b"h", b"i"):
        await asyncio.sleep(0.1)
        await peer.send(piece)
    await peer.gone()


@pytest.mark.behaviour("no-timeout-means-none")
@pytest.mark.parametrize("timeouts", [NO_TIMEOUTS, Timeouts(connect=0, first_byte=0, idle=0)])
async def test_a_disabled_timeout_never_raises(client: HttpClient, timeouts: Timeouts) -> None:
    async with raw_server(slow) as server:
        answer = await client.request(HttpRequest(url=server.url, timeouts=timeouts))

    assert answer.body == b"hi"


@pytest.mark.timing
async def test_each_byte_starts_the_idle_timeout_anew(client: HttpClient) -> None:
    timeouts = Timeouts(first_byte=5, idle=0.35)
    async with raw_server(slow) as server:
        answer = await client.request(HttpRequest(url=server.url, timeouts=timeouts))

    assert answer.body == b"hi"


async def test_the_time_of_a_slow_reader_does_not_count_as_idle_time(client: HttpClient) -> None:
    async with raw_server(answering(ok(b"whole"))) as server:
        request = HttpRequest(url=server.url, timeouts=Timeouts(idle=0.05))
        async with client.stream(request) as response:
            await asyncio.sleep(0.1)
            assert await response.read() == b"whole"


async def test_a_large_upload_is_sent_completely(client: HttpClient) -> None:
    received: list[bytes] = []

    async def script(peer: Peer) -> None:
        received.append((await peer.request()).partition(b"\r\n\r\n")[2])
        await peer.send(OK_EMPTY)
        await peer.gone()

    async with raw_server(script) as server:
        await client.request(HttpRequest(method="POST", url=server.url, body=LARGE))

    assert received == [LARGE]


async def test_a_large_upload_over_tls_is_sent_completely(
    tls_client: HttpClient, server_tls: ssl.SSLContext
) -> None:
    received: list[bytes] = []

    async def script(peer: Peer) -> None:
        received.append((await peer.request()).partition(b"\r\n\r\n")[2])
        await peer.send(OK_EMPTY)
        await peer.gone()

    async with raw_server(script, tls=server_tls) as server:
        await tls_client.request(HttpRequest(method="POST", url=server.url, body=LARGE))

    assert received == [LARGE]


async def test_an_upload_that_the_server_does_not_read_raises_the_idle_timeout(
    client: HttpClient,
) -> None:
    async def script(peer: Peer) -> None:
        peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.Event().wait()

    async with raw_server(script) as server:
        request = HttpRequest(
            method="POST", url=server.url, body=LARGE, timeouts=Timeouts(idle=0.05)
        )
        with pytest.raises(TimedOut) as caught:
            await client.request(request)

    assert caught.value.kind == "idle"


async def test_a_response_during_an_upload_ends_the_upload(client: HttpClient) -> None:
    async def script(peer: Peer) -> None:
        await peer.reader.readuntil(b"\r\n\r\n")
        peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await peer.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig")
        await asyncio.Event().wait()

    async with raw_server(script, answering(ok(b"next"))) as server:
        refused = await client.request(
            HttpRequest(method="POST", url=server.url, body=LARGE, timeouts=Timeouts(idle=5))
        )
        after = await client.request(HttpRequest(url=server.url))

    assert (refused.status, refused.body, after.body) == (413, b"big", b"next")
    assert server.connections == 2


async def test_an_exchange_on_a_closed_connection_raises_immediately() -> None:
    ours, theirs = socket.socketpair()
    _, connection = await asyncio.get_running_loop().create_connection(
        lambda: Connection("peer", set()), sock=ours
    )
    theirs.close()
    await connection.closed

    with pytest.raises(ConnectionLost, match="peer did not answer"):
        await HttpExchange(connection, NO_TIMEOUTS, bodiless=False).send(b"GET / HTTP/1.1\r\n\r\n")

"""Which connection a request uses, and how pooled connections are handled."""

from __future__ import annotations

import asyncio

import pytest

from pi.ai.http.client import HttpClient
from pi.ai.http.errors import ConnectionLost
from pi.ai.http.request import HttpRequest
from tests.ai.http.raw_server import (
    OK_EMPTY,
    Peer,
    Script,
    answering,
    chunked,
    ok,
    raw_server,
    splitting,
)


async def test_sequential_requests_share_a_connection(client: HttpClient) -> None:
    answers = (ok(b"one"), chunked(b"two"), b"HTTP/1.1 204 No Content\r\n\r\n", ok(b"four"))
    async with raw_server(answering(*answers)) as server:
        bodies = [(await client.request(HttpRequest(url=server.url))).body for _ in answers]

    assert bodies == [b"one", b"two", b"", b"four"]
    assert server.connections == 1


async def test_concurrent_requests_use_separate_connections(client: HttpClient) -> None:
    arrived = 0
    all_there = asyncio.Event()

    async def script(peer: Peer) -> None:
        nonlocal arrived
        await peer.request()
        arrived += 1
        if arrived == 3:
            all_there.set()
        await all_there.wait()
        await peer.send(ok(b"x"))
        await peer.gone()

    async with raw_server(script) as server:
        request = HttpRequest(url=server.url)
        answers = await asyncio.gather(*(client.request(request) for _ in range(3)))

    assert [answer.body for answer in answers] == [b"x"] * 3
    assert server.connections == 3


async def test_a_new_connection_is_opened_after_a_connection_close_header(
    client: HttpClient,
) -> None:
    closing = splitting(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi")
    async with raw_server(closing) as server:
        for _ in range(2):
            assert (await client.request(HttpRequest(url=server.url))).body == b"hi"

    assert server.connections == 2


async def closes_on_second_request(peer: Peer) -> None:
    await peer.request()
    await peer.send(ok(b"first"))
    await peer.request()
    await peer.hang_up()


async def resets_on_second_request(peer: Peer) -> None:
    await peer.request()
    await peer.send(ok(b"first"))
    await peer.request()
    peer.reset()


@pytest.mark.parametrize("script", [closes_on_second_request, resets_on_second_request])
async def test_a_stale_pooled_connection_is_replaced_without_an_error(
    client: HttpClient, script: Script
) -> None:
    async with raw_server(script, answering(ok(b"second"))) as server:
        request = HttpRequest(method="POST", url=server.url, body=b"x" * 300_000)
        bodies = [(await client.request(request)).body for _ in range(2)]

    assert bodies == [b"first", b"second"]
    assert server.connections == 2


async def test_a_request_is_not_retried_after_a_partial_response(
    client: HttpClient,
) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(ok(b"first"))
        await peer.request()
        await peer.send(b"HTTP/1.1 2")
        await peer.hang_up()

    async with raw_server(script, answering(ok(b"never"))) as server:
        await client.request(HttpRequest(url=server.url))
        with pytest.raises(ConnectionLost):
            await client.request(HttpRequest(url=server.url))

    assert server.connections == 1


async def test_a_new_connection_that_closes_without_a_response_raises(
    client: HttpClient,
) -> None:
    async with raw_server(splitting(), answering(OK_EMPTY)) as server:
        with pytest.raises(ConnectionLost) as caught:
            await client.request(HttpRequest(url=server.url))

    assert str(caught.value) == (
        f"127.0.0.1:{server.port} did not answer: it closed the connection."
    )
    assert server.connections == 1


async def test_an_idle_connection_that_received_a_response_is_closed_and_replaced(
    client: HttpClient,
) -> None:
    answered, closed = asyncio.Event(), asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(ok(b"first"))
        await answered.wait()
        await peer.send(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
        await peer.gone()
        closed.set()

    async with raw_server(script, answering(ok(b"second"))) as server:
        first = await client.request(HttpRequest(url=server.url))
        answered.set()
        await closed.wait()
        second = await client.request(HttpRequest(url=server.url))

    assert (first.body, second.body, server.connections) == (b"first", b"second", 2)

"""Leaving, cancelling and closing while a response arrives."""

from __future__ import annotations

import asyncio

import pytest

from pi.ai.http.client import HttpClient
from pi.ai.http.errors import BodyTruncated, ConnectFailed, ConnectionLost
from pi.ai.http.request import HttpRequest
from tests.ai.http.raw_server import Peer, answering, chunked, ok, raw_server


@pytest.mark.behaviour("terminal-event-ends-the-stream")
async def test_leaving_a_stream_early_does_not_wait_for_the_server(
    client: HttpClient,
) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(head + b"6\r\n[DONE]\r\n")
        await peer.gone()

    async with raw_server(script) as server:
        loop = asyncio.get_running_loop()
        async with client.stream(HttpRequest(url=server.url)) as response:
            async for chunk in response.chunks():
                assert chunk == b"[DONE]"
                break
            before = loop.time()
        assert loop.time() - before < 0.4  # less than the connection lingers


async def test_a_connection_is_reused_when_the_rest_of_an_abandoned_stream_is_small(
    client: HttpClient,
) -> None:
    left = asyncio.Event()
    drained = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(chunked(b"first")[:-5])
        await left.wait()
        await peer.send(b"0\r\n", b"\r\n")
        drained.set()
        await peer.request()
        await peer.send(ok(b"second"))
        await peer.gone()

    async with raw_server(script, answering(ok(b"other"))) as server:
        async with client.stream(HttpRequest(url=server.url)) as response:
            assert await anext(response.chunks()) == b"first"
        left.set()
        await drained.wait()
        second = await client.request(HttpRequest(url=server.url))

    assert (second.body, server.connections) == (b"second", 1)


async def test_a_connection_is_closed_when_the_rest_of_an_abandoned_stream_is_large(
    client: HttpClient,
) -> None:
    closed = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(ok(bytes(50_000_000))[:1000])
        try:
            while True:
                await peer.send(bytes(10_000))
        finally:
            closed.set()

    async with raw_server(script) as server:
        async with client.stream(HttpRequest(url=server.url)):
            pass
        await asyncio.wait_for(closed.wait(), 30)


async def test_an_exception_inside_the_block_closes_the_socket_at_once(client: HttpClient) -> None:
    closed = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(ok(b"whole"))
        await peer.gone()
        closed.set()

    async with raw_server(script) as server:
        with pytest.raises(KeyError):
            async with client.stream(HttpRequest(url=server.url)):
                raise KeyError
        await asyncio.wait_for(closed.wait(), 30)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200", ok(b"whole")[:-2]])
async def test_cancelling_closes_the_socket_at_once(client: HttpClient, answer: bytes) -> None:
    asked, closed = asyncio.Event(), asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(answer)
        asked.set()
        await peer.gone()
        closed.set()

    async with raw_server(script) as server:
        task = asyncio.create_task(client.request(HttpRequest(url=server.url)))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(closed.wait(), 30)


async def test_reading_a_response_after_its_block_raises_even_if_bytes_had_arrived(
    client: HttpClient,
) -> None:
    async with raw_server(answering(ok(b"hi"), ok(b"next"))) as server:
        async with client.stream(HttpRequest(url=server.url)) as response:
            pass
        await client.request(HttpRequest(url=server.url))
        with pytest.raises(ConnectionLost):
            await response.read()


async def test_closing_the_client_ends_streams_in_use() -> None:
    client = HttpClient(environ={})
    async with raw_server(answering(ok(b"whole")[:-2])) as server:
        async with client.stream(HttpRequest(url=server.url)) as response:
            assert await anext(response.chunks()) == b"who"
            await client.close()
            with pytest.raises(BodyTruncated):
                await anext(response.chunks())
        await client.close()


async def test_closing_the_client_ends_a_handshake(client: HttpClient) -> None:
    greeted = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.reader.read(1)
        greeted.set()
        await peer.gone()

    async with raw_server(script) as server:
        url = f"https://127.0.0.1:{server.port}/"
        task = asyncio.create_task(client.request(HttpRequest(url=url)))
        await greeted.wait()
        await client.close()
        with pytest.raises(ConnectFailed):
            await task

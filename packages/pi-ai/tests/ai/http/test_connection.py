from __future__ import annotations

import asyncio
import ssl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi.ai.http.client import HttpClient
from pi.ai.http.connection import HIGH_WATER
from pi.ai.http.errors import BadResponse, BodyTruncated, ConnectionLost, HttpError
from pi.ai.http.request import HttpRequest
from tests.ai.http.raw_server import Peer, answering, chunked, ok, raw_server, splitting
from tests.ai.http.splits import splits

WORDS = [b"data: one\n\n", b"data: two\n\n", b"", b"data: three\n\n"]
STREAM = b"HTTP/1.1 103 Early Hints\r\n\r\n" + chunked(*filter(None, WORDS))


@settings(max_examples=25, deadline=None)
@given(st.data())
async def test_a_stream_split_anywhere_yields_the_same_bytes(
    data: st.DataObject,
) -> None:
    pieces = data.draw(splits(STREAM))

    async with (
        raw_server(splitting(*pieces)) as server,
        HttpClient(environ={}) as client,
        client.stream(HttpRequest(url=server.url)) as response,
    ):
        got = [chunk async for chunk in response.chunks()]

    assert b"".join(got) == b"".join(WORDS)
    assert all(got)


async def test_a_stream_sent_byte_by_byte_yields_the_same_bytes(client: HttpClient) -> None:
    async with raw_server(splitting(*(bytes([b]) for b in STREAM))) as server:
        body = (await client.request(HttpRequest(url=server.url))).body

    assert body == b"".join(WORDS)


async def test_queued_reads_are_returned_as_one_chunk(client: HttpClient) -> None:
    sent = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        whole = chunked(*(b"%d" % number for number in range(1000)))
        await peer.send(*(whole[start : start + 1000] for start in range(0, len(whole), 1000)))
        sent.set()
        await peer.gone()

    async with (
        raw_server(script) as server,
        client.stream(HttpRequest(url=server.url)) as response,
    ):
        await sent.wait()
        chunks = [chunk async for chunk in response.chunks()]

    assert chunks == [b"".join(b"%d" % number for number in range(1000))]


async def test_a_slow_reader_applies_backpressure_to_the_server(client: HttpClient) -> None:
    sent = 0
    total = 64 * 1024 * 1024

    async def script(peer: Peer) -> None:
        nonlocal sent
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % total)
        while sent < total:
            await peer.send(bytes(65536))
            sent += 65536
        await peer.gone()

    async with (
        raw_server(script) as server,
        client.stream(HttpRequest(url=server.url)) as response,
    ):
        for _ in range(2000):
            await asyncio.sleep(0)
        held_at = sent
        first = await anext(response.chunks())
        rest = sum([len(chunk) async for chunk in response.chunks()])

    assert held_at < total // 2  # no more than the buffers of the two sockets
    assert len(first) < HIGH_WATER * 3
    assert len(first) + rest == total


@pytest.mark.parametrize(
    ("response", "error", "message"),
    [
        (b"", ConnectionLost, "did not answer: it closed the connection."),
        (b"HTTP/1.1 200 OK\r\nX:", ConnectionLost, "did not answer: it closed the connection."),
        (ok(b"whole")[:-1], BodyTruncated, "stopped early: it closed the connection."),
        (chunked(b"whole")[:-5], BodyTruncated, "stopped early: it closed the connection."),
        (chunked(b"whole")[:-2], BodyTruncated, "stopped early: it closed the connection."),
        (b"nonsense\r\n\r\n", BadResponse, "is malformed: Expected HTTP/"),
        (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 300, BadResponse, "header fields."),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000, BadResponse, "larger than 131072 bytes."),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
            BadResponse,
            "Invalid character in chunk size.",
        ),
    ],
)
async def test_a_response_that_ends_early_or_is_malformed_raises_a_one_line_error(
    client: HttpClient, response: bytes, error: type[HttpError], message: str
) -> None:
    if b"A: b" in response:
        response += b"\r\n"
    async with raw_server(splitting(response)) as server:
        with pytest.raises(HttpError) as caught:
            await client.request(HttpRequest(url=server.url))

    assert type(caught.value) is error
    assert message in str(caught.value)
    assert f"127.0.0.1:{server.port}" in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_bytes_received_before_a_failure_are_delivered_first(client: HttpClient) -> None:
    async with (
        raw_server(splitting(chunked(b"said")[:-5])) as server,
        client.stream(HttpRequest(url=server.url)) as response,
    ):
        chunks = response.chunks()
        assert await anext(chunks) == b"said"
        with pytest.raises(BodyTruncated):
            await anext(chunks)


@pytest.mark.parametrize("response", [b"", b"HTTP/1.1 200 OK\r\n\r\nhalf", ok(b"whole")[:-1]])
async def test_a_connection_reset_raises_a_retryable_error_and_does_not_end_a_body(
    client: HttpClient, response: bytes
) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(response)
        peer.reset()

    async with raw_server(script) as server:
        with pytest.raises(ConnectionLost) as caught:
            await client.request(HttpRequest(url=server.url))

    assert type(caught.value) is (BodyTruncated if response else ConnectionLost)
    assert str(caught.value).endswith(": Connection reset by peer.")
    assert caught.value.retryable


async def test_a_body_without_length_ends_when_the_server_closes(client: HttpClient) -> None:
    async with raw_server(splitting(b"HTTP/1.0 200 OK\r\n\r\n", b"all ", b"of it")) as server:
        assert (await client.request(HttpRequest(url=server.url))).body == b"all of it"


async def test_a_body_without_length_ends_when_the_server_closes_tls(
    tls_client: HttpClient, server_tls: ssl.SSLContext
) -> None:
    script = splitting(b"HTTP/1.1 200 OK\r\n\r\n", b"all ", b"of it")
    async with raw_server(script, tls=server_tls) as server:
        assert (await tls_client.request(HttpRequest(url=server.url))).body == b"all of it"


async def test_bytes_beyond_the_content_length_are_dropped_with_the_connection(
    client: HttpClient,
) -> None:
    async with raw_server(answering(ok(b"hi") + b"more"), answering(ok(b"new"))) as server:
        bodies = [(await client.request(HttpRequest(url=server.url))).body for _ in range(2)]

    assert bodies == [b"hi", b"new"]
    assert server.connections == 2

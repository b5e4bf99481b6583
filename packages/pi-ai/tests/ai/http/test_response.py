from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi.ai.http.client import HttpClient
from pi.ai.http.errors import BadResponse, BodyTooLarge, BodyTruncated
from pi.ai.http.exchange import HttpResponse
from pi.ai.http.request import HttpRequest
from pi.ai.http.response_parser import Headers
from tests.ai.http.raw_server import answering, chunked, ok, raw_server, splitting
from tests.ai.http.splits import splits

TEXT = "Straße ☃ ".encode() * 50
PACKED = {
    "gzip": gzip.compress(TEXT),
    "deflate": zlib.compress(TEXT),
    "identity": TEXT,
    "GZip": gzip.compress(TEXT[:100]) + gzip.compress(TEXT[100:]),
}


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(sorted(PACKED)), st.data())
async def test_a_compressed_stream_split_anywhere_is_decoded(
    coding: str, data: st.DataObject
) -> None:
    parts = data.draw(splits(PACKED[coding]))
    raw = chunked(*parts, headers=f"Content-Encoding: {coding}\r\n")

    pieces = data.draw(splits(raw))

    async with raw_server(splitting(*pieces)) as server, HttpClient(environ={}) as client:
        assert (await client.request(HttpRequest(url=server.url))).body == TEXT


async def test_an_event_of_a_compressed_stream_arrives_before_the_stream_ends(
    client: HttpClient,
) -> None:
    encoder = zlib.compressobj(wbits=31)
    first = encoder.compress(b"data: 1\n\n") + encoder.flush(zlib.Z_SYNC_FLUSH)
    open_end = chunked(first, headers="Content-Encoding: gzip\r\n")[:-5]
    async with (
        raw_server(answering(open_end)) as server,
        client.stream(HttpRequest(url=server.url)) as response,
    ):
        assert await anext(response.chunks()) == b"data: 1\n\n"


async def test_an_empty_body_needs_no_decoding(client: HttpClient) -> None:
    async with raw_server(answering(ok(b"", "Content-Encoding: br"))) as server:
        assert (await client.request(HttpRequest(url=server.url))).body == b""


async def test_a_truncated_compressed_body_raises(client: HttpClient) -> None:
    cut = ok(PACKED["gzip"][:-3], "Content-Encoding: gzip")
    async with raw_server(answering(cut)) as server:
        with pytest.raises(BodyTruncated):
            await client.request(HttpRequest(url=server.url))


@pytest.mark.parametrize(
    ("coding", "body", "words"),
    [
        ("gzip", b"not gzip", "incorrect header check"),
        ("br", b"xx", "the content coding 'br' is unknown"),
        ("gzip, br", b"xx", "the content coding 'gzip, br' is unknown"),
    ],
)
async def test_a_body_that_cannot_be_decoded_is_an_error(
    client: HttpClient, coding: str, body: bytes, words: str
) -> None:
    async with raw_server(answering(ok(body, f"Content-Encoding: {coding}"))) as server:
        with pytest.raises(BadResponse) as caught:
            await client.request(HttpRequest(url=server.url))

    assert words in str(caught.value)
    assert f"127.0.0.1:{server.port}" in str(caught.value)


async def test_a_gzip_bomb_exceeds_the_body_limit(client: HttpClient) -> None:
    bomb = ok(gzip.compress(bytes(50_000_000)), "Content-Encoding: gzip")
    async with raw_server(answering(bomb)) as server:
        with pytest.raises(BodyTooLarge, match="larger than 1000000 bytes"):
            await client.request(HttpRequest(url=server.url), limit=1_000_000)


async def test_the_beginning_of_an_error_page_can_be_read_alone(client: HttpClient) -> None:
    async with (
        raw_server(answering(chunked(b"<html>", b"x" * 100_000))) as server,
        client.stream(HttpRequest(url=server.url)) as response,
    ):
        assert await response.read_prefix(8) == b"<html>xx"


def test_a_body_can_be_read_as_text_or_json() -> None:
    def body(raw: bytes) -> HttpResponse:
        return HttpResponse(status=200, headers=Headers(), body=raw)

    assert body(b'{"a": ["\xe2\x98\x83"]}').json() == {"a": ["☃"]}
    assert body(b"\xffok").text == "�ok"
    for raw in (b"<html>", b"", b'"\xff"'):
        with pytest.raises(BadResponse):
            body(raw).json()

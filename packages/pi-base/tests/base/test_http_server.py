"""aiohttp servers against invalid and stalled connections."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from pi.base import http_server
from pi.base.errors import PiError
from pi.base.http_server import serve_http


def application(ended: asyncio.Event | None = None) -> web.Application:
    app = web.Application()

    async def answer(request: web.Request) -> web.Response:
        return web.Response(text="here")

    async def take(request: web.Request) -> web.Response:
        return web.Response(text=f"{len(await request.read())} bytes")

    async def flood(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(bytes(65536))
        finally:
            if ended is not None:
                ended.set()

    app.router.add_get("/", answer)
    app.router.add_post("/", take)
    app.router.add_get("/flood", flood)
    return app


async def send(port: int, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    answer = await reader.read()
    writer.close()
    return answer


async def test_bytes_that_are_not_http_are_answered_and_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with serve_http(application(), "127.0.0.1", 0) as port:
        answer = await send(port, b"\x00\x1b[31m\r\n\r\n")

    assert answer.startswith(b"HTTP/1.0 400 ")
    assert b"\x1b" not in answer
    assert caplog.records == []


async def test_a_connection_without_a_request_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "REQUEST_SECONDS", 0.0)
    monkeypatch.setattr(http_server, "SWEEP_SECONDS", 0.01)
    async with serve_http(application(), "127.0.0.1", 0) as port, asyncio.timeout(10):
        assert await send(port, b"GET / HT") == b""


@pytest.mark.parametrize("cancels_handlers", [False, True])
async def test_a_connection_with_half_a_body_is_closed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, *, cancels_handlers: bool
) -> None:
    monkeypatch.setattr(http_server, "REQUEST_SECONDS", 0.05)
    monkeypatch.setattr(http_server, "SWEEP_SECONDS", 0.01)
    serving = serve_http(application(), "127.0.0.1", 0, cancels_handlers=cancels_handlers)
    async with serving as port, asyncio.timeout(10):
        head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: "
        assert await send(port, head + b"20\r\n\r\nhalf") == b""
        whole = await send(port, head + b"4\r\nConnection: close\r\n\r\nhalf")
        assert whole.endswith(b"4 bytes")

    assert caplog.records == []


async def test_a_connection_whose_client_does_not_read_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_server, "STALLED_SECONDS", 0.05)
    monkeypatch.setattr(http_server, "SWEEP_SECONDS", 0.01)
    ended = asyncio.Event()
    async with serve_http(application(ended), "127.0.0.1", 0) as port, asyncio.timeout(10):
        _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(b"GET /flood HTTP/1.1\r\nHost: x\r\n\r\n")
        await ended.wait()
        writer.transport.abort()


async def test_a_port_in_use_is_named_in_the_error() -> None:
    async with serve_http(application(), "127.0.0.1", 0) as port:
        with pytest.raises(PiError, match=f"Cannot listen on 127.0.0.1:{port}") as problem:
            async with serve_http(application(), "127.0.0.1", port):
                pass

    assert problem.value.hint == "Choose another port with --port."

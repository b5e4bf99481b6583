"""Servers of aiohttp against what strangers send."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from pi.base import http_server
from pi.base.errors import PiError
from pi.base.http_server import serve_http


def application() -> web.Application:
    app = web.Application()

    async def answer(request: web.Request) -> web.Response:
        return web.Response(text="here")

    app.router.add_get("/", answer)
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


async def test_a_port_that_is_taken_is_named() -> None:
    async with serve_http(application(), "127.0.0.1", 0) as port:
        with pytest.raises(PiError, match=f"Cannot listen on 127.0.0.1:{port}") as problem:
            async with serve_http(application(), "127.0.0.1", port):
                pass

    assert problem.value.hint == "Choose another port with --port."

"""Servers over HTTP in real sessions: both transports, sessions, broken streams, statuses."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.batteries.mcp.http_server import (
    TOOL,
    FakeServer,
    Reply,
    Request,
    begin_events,
    event,
    http_server,
)
from tests.batteries.mcp.mcp_session import Answers, mcp_session, text, until


def text_result(request: Request, value: str) -> dict[str, Any]:
    content = [{"type": "text", "text": value}]
    return {"jsonrpc": "2.0", "id": request.message["id"], "result": {"content": content}}


@pytest.mark.parametrize("era", ["modern", "handshake"])
async def test_tools_of_both_eras_are_called(tmp_path: Path, era: str) -> None:
    fake = FakeServer(era)
    async with (
        http_server(fake) as url,
        mcp_session(tmp_path, {"s": {"url": f"{url}/mcp"}}) as mcp,
    ):
        assert await mcp.text("mcp__s__echo", text="hi") == "said hi"
    called = next(r for r in fake.requests if b"tools/call" in r.body)
    if era == "modern":
        assert called.headers["mcp-protocol-version"] == "2026-07-28"
        assert called.headers["mcp-method"] == "tools/call"
        assert called.headers["mcp-name"] == "echo"
        assert called.headers["mcp-param-text"] == "hi"
        assert "mcp-session-id" not in called.headers
    else:
        assert called.headers["mcp-protocol-version"] == "2025-06-18"
        assert called.headers["mcp-session-id"] == "s1"
        assert fake.requests[-1].method == "DELETE"


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, b"gone"),
        (400, b'{"error": {"code": -32000, "message": "Bad Request: No valid session ID"}}'),
    ],
)
async def test_an_expired_session_is_renewed_and_the_call_repeated(
    tmp_path: Path, status: int, body: bytes
) -> None:
    fake = FakeServer("handshake", (status, {}, body))
    async with http_server(fake) as url, mcp_session(tmp_path, {"s": {"url": url}}) as mcp:
        assert await mcp.text("mcp__s__echo", text="hi") == "said hi"
        assert fake.sessions == 2


async def test_an_answer_that_is_too_large_is_explained_by_its_size(tmp_path: Path) -> None:
    large: Reply = (200, {"Content-Type": "application/json"}, b"x" * (65 << 20))
    fake = FakeServer("modern", large)
    async with http_server(fake) as url, mcp_session(tmp_path, {"s": {"url": url}}) as mcp:
        refusal = await mcp.text("mcp__s__echo", text="x")
        assert f"answered with {65 << 20:,} bytes" in refusal
        assert await mcp.text("mcp__s__echo", text="y") == "said y"


STATUSES = [
    (401, "needs a login (status 401)"),
    (403, "The server refuses these credentials"),
    (500, "answered with status 500: broken"),
    (503, "answered with status 503: broken"),
]


@pytest.mark.parametrize(("status", "expected"), STATUSES)
async def test_a_status_is_explained_and_the_next_call_works(
    tmp_path: Path, status: int, expected: str
) -> None:
    fake = FakeServer("modern", (status, {}, b"broken"))
    async with http_server(fake) as url, mcp_session(tmp_path, {"s": {"url": url}}) as mcp:
        failed = await mcp.call("mcp__s__echo", text="x")
        assert failed.is_error and expected in text(failed)
        assert await mcp.text("mcp__s__echo", text="y") == "said y"


async def cut_stream(fake: FakeServer, request: Request, writer: asyncio.StreamWriter) -> None:
    """A stream that breaks after an event; the answer follows on a GET stream."""
    begin_events(writer)
    writer.write(event(None, "7"))
    first_request = request

    async def later(_: FakeServer, again: Request, writer: asyncio.StreamWriter) -> Reply | None:
        assert again.headers["last-event-id"] == "7"
        begin_events(writer)
        writer.write(event(text_result(first_request, "after the cut"), "8"))
        return None

    original = fake.__call__

    async def handle(request: Request, writer: asyncio.StreamWriter) -> Reply | None:
        if request.method == "GET" and "last-event-id" in request.headers:
            return await later(fake, request, writer)
        return await original(request, writer)

    fake.handle = handle  # type: ignore[attr-defined]


async def test_a_broken_stream_is_continued_after_the_last_event(tmp_path: Path) -> None:
    fake = FakeServer("handshake", cut_stream)

    async def handle(request: Request, writer: asyncio.StreamWriter) -> Reply | None:
        answer: Reply | None = await getattr(fake, "handle", fake)(request, writer)
        return answer

    async with http_server(handle) as url, mcp_session(tmp_path, {"s": {"url": url}}) as mcp:
        assert await mcp.text("mcp__s__echo", text="x") == "after the cut"


async def test_a_stream_of_a_modern_server_that_breaks_is_an_error(tmp_path: Path) -> None:
    async def broken(_: FakeServer, request: Request, writer: asyncio.StreamWriter) -> None:
        begin_events(writer)
        writer.write(event({"jsonrpc": "2.0", "method": "notifications/message"}))

    fake = FakeServer("modern", broken)
    async with http_server(fake) as url, mcp_session(tmp_path, {"s": {"url": url}}) as mcp:
        failed = await mcp.call("mcp__s__echo", text="x")
        assert failed.is_error and "closed the connection before it answered" in text(failed)
        assert await mcp.text("mcp__s__echo", text="y") == "said y"


async def test_a_response_that_is_not_json_is_explained(tmp_path: Path) -> None:
    page: Reply = (200, {"Content-Type": "text/html"}, b"<html>")
    fake = FakeServer("modern", page)
    async with http_server(fake) as url, mcp_session(tmp_path, {"s": {"url": url}}) as mcp:
        assert "answered with text/html instead of JSON" in await mcp.text("mcp__s__echo")


async def test_a_server_that_is_not_reachable_is_reported(tmp_path: Path) -> None:
    ui = Answers()
    async with mcp_session(tmp_path, {"s": {"url": "http://127.0.0.1:9/mcp"}}, ui=ui):
        assert any("MCP server s failed" in notice for notice in ui.notices)


class TwoStreams:
    """A server with the transport of 2024-11-05."""

    def __init__(self, endpoint: str = "/messages?id=1") -> None:
        self.endpoint = endpoint
        self.stream: asyncio.StreamWriter | None = None
        self.open = asyncio.Event()

    async def __call__(self, request: Request, writer: asyncio.StreamWriter) -> Reply | None:
        """Handle a request."""
        if request.method == "GET":
            begin_events(writer)
            writer.write(f"event: endpoint\ndata: {self.endpoint}\n\n".encode())
            self.stream = writer
            await writer.drain()
            await self.open.wait()
            return None
        if request.path == "/sse":
            return 405, {}, b"Method Not Allowed"
        self._answer(request.message)
        return 202, {}, b"Accepted"

    def _answer(self, message: dict[str, Any]) -> None:
        results: dict[str, dict[str, Any]] = {
            "initialize": {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}},
            "tools/list": {"tools": [TOOL]},
            "tools/call": {"content": [{"type": "text", "text": "over two streams"}]},
        }
        if (result := results.get(str(message.get("method")))) is not None:
            assert self.stream is not None
            self.stream.write(event({"jsonrpc": "2.0", "id": message["id"], "result": result}))


@pytest.mark.parametrize("more", [{}, {"type": "sse"}])
async def test_the_older_sse_transport_is_detected_or_configured(
    tmp_path: Path, more: dict[str, str]
) -> None:
    server = TwoStreams()
    async with (
        http_server(server) as url,
        mcp_session(tmp_path, {"s": {"url": f"{url}/sse", **more}}) as mcp,
    ):
        assert await mcp.text("mcp__s__echo") == "over two streams"
        server.open.set()


@pytest.mark.behaviour("mcp-names-and-servers")
async def test_an_idle_stream_that_is_dropped_is_opened_again_by_the_next_call(
    tmp_path: Path,
) -> None:
    server, ui = TwoStreams(), Answers()
    async with (
        http_server(server) as url,
        mcp_session(tmp_path, {"s": {"url": f"{url}/sse", "type": "sse"}}, ui=ui) as mcp,
    ):
        server.open.set()
        await until(lambda: mcp.server("s").state == "idle")
        server.open.clear()
        assert await mcp.text("mcp__s__echo") == "over two streams"
        assert ui.notices == []
        server.open.set()


async def test_an_address_on_another_server_is_refused(tmp_path: Path) -> None:
    ui = Answers()
    server = TwoStreams("http://127.0.0.2:1/steal")
    definition = {"type": "sse"}
    async with (
        http_server(server) as url,
        mcp_session(tmp_path, {"s": {"url": f"{url}/sse", **definition}}, ui=ui),
    ):
        server.open.set()
        assert any("names an address on another server" in notice for notice in ui.notices)


async def test_headers_have_expanded_variables_and_outputs_of_commands(tmp_path: Path) -> None:
    fake = FakeServer("modern")
    async with http_server(fake) as url:
        headers = {"X-Home": "${HOME:-x}", "X-Default": "${NOT_SET_AT_ALL:-d}", "X-Run": "!echo 42"}
        async with mcp_session(tmp_path, {"s": {"url": url, "headers": headers}}) as mcp:
            await mcp.text("mcp__s__echo")
    sent = fake.requests[0].headers
    assert sent["x-home"] and sent["x-default"] == "d" and sent["x-run"] == "42"
    assert json.loads(fake.requests[0].body)["method"] == "server/discover"

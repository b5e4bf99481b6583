"""An MCP server over HTTP on loopback, with faults."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

Reply = tuple[int, dict[str, str], bytes]


class Request:
    """A request as it arrived."""

    def __init__(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        self.method, self.path, self.headers, self.body = method, path, headers, body

    @property
    def message(self) -> dict[str, Any]:
        """The body as JSON."""
        message: dict[str, Any] = json.loads(self.body) if self.body else {}
        return message


Handle = Callable[[Request, asyncio.StreamWriter], Awaitable[Reply | None]]


def event(message: Any, id: str = "") -> bytes:
    """A server-sent event."""
    data = json.dumps(message) if message is not None else ""
    return (f"id: {id}\n" if id else "").encode() + f"event: message\ndata: {data}\n\n".encode()


def reply(request: Request, result: dict[str, Any], **headers: str) -> Reply:
    """The answer to a request as JSON."""
    body = {"jsonrpc": "2.0", "id": request.message["id"], "result": result}
    return 200, {"Content-Type": "application/json", **headers}, json.dumps(body).encode()


def begin_events(writer: asyncio.StreamWriter) -> None:
    """Begin a stream of events without an end."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")


@asynccontextmanager
async def http_server(handle: Handle) -> AsyncIterator[str]:
    """A server; the value is its address."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await _one(reader, writer, handle):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accepted, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


async def _one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handle: Handle) -> bool:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.strip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in lines}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    answer = await handle(Request(method, path, headers, body), writer)
    if answer is None:
        await writer.drain()
        return False
    status, more, data = answer
    rows = [f"HTTP/1.1 {status} X", f"Content-Length: {len(data)}"]
    rows += [f"{name}: {value}" for name, value in more.items()]
    writer.write("\r\n".join((*rows, "", "")).encode() + data)
    await writer.drain()
    return True


TOOL = {
    "name": "echo",
    "description": "says it again",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string", "x-mcp-header": "Text"}},
    },
}


class FakeServer:
    """A server of one era with one tool. ``faults`` are replies to calls, in order."""

    def __init__(self, era: str = "handshake", *faults: Any) -> None:
        self.era = era
        self.faults = [*faults]
        self.requests: list[Request] = []
        self.sessions = 0
        self.token = ""
        """The access token that is needed; empty without a login."""
        self.challenge = "Bearer"

    async def __call__(self, request: Request, writer: asyncio.StreamWriter) -> Reply | None:
        """Handle a request."""
        self.requests.append(request)
        authorization = request.headers.get("authorization", "")
        if self.token and authorization != f"Bearer {self.token}":
            return 401, {"WWW-Authenticate": self.challenge}, b""
        if request.method != "POST":
            return 405, {}, b""
        message = request.message
        if "id" not in message or "method" not in message:
            return 202, {}, b""
        first = message["method"] in ("initialize", "server/discover")
        session = request.headers.get("mcp-session-id")
        if self.era == "handshake" and not first and session != f"s{self.sessions}":
            return 404, {}, b"unknown session"
        if message["method"] == "tools/call" and self.faults:
            fault = self.faults.pop(0)
            answer: Reply | None = await fault(self, request, writer) if callable(fault) else fault
            return answer
        return self._answer(request, message)

    def _answer(self, request: Request, message: dict[str, Any]) -> Reply:
        match message["method"]:
            case "server/discover" if self.era == "modern":
                result = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
                return reply(request, result)
            case "initialize" if self.era == "handshake":
                self.sessions += 1
                result = {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "fake", "version": "1"},
                }
                return reply(request, result, **{"Mcp-Session-Id": f"s{self.sessions}"})
            case "tools/list":
                return reply(request, {"tools": [TOOL]})
            case "tools/call":
                text = message["params"]["arguments"].get("text", "")
                return reply(request, {"content": [{"type": "text", "text": f"said {text}"}]})
            case _:
                return 400, {"Content-Type": "text/plain"}, b"Bad Request: not initialized"

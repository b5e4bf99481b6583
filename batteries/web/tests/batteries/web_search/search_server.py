"""A loopback server that stands for a search provider, and sessions that search with it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Answer:
    """What the server sends: JSON, server-sent events, or raw bytes."""

    status: int = 200
    body: Any = None
    events: Sequence[Any] | None = None
    headers: dict[str, str] = field(default_factory=dict)
    hangs: bool = False
    cuts: bool = False
    """Whether the connection ends before the promised length."""

    def data(self) -> tuple[str, bytes]:
        if self.events is not None:
            texts = [
                event if isinstance(event, str) else json.dumps(event) for event in self.events
            ]
            return "text/event-stream", "".join(f"data: {text}\n\n" for text in texts).encode()
        if isinstance(self.body, bytes):
            return "application/json", self.body
        return "application/json", json.dumps(self.body).encode()


@dataclass
class SearchServer:
    """The address of the server, and the requests that it received."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    """Set with every request."""


@asynccontextmanager
async def search_server(*answers: Answer) -> AsyncIterator[SearchServer]:
    """Send ``answers`` in turn; the last one repeats."""
    state = SearchServer()
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            await _exchange(reader, writer)
        writer.close()

    async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {
            name.lower(): value
            for name, _, value in (line.partition(": ") for line in head[1:] if line)
        }
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        request = {"method": method, "path": path, "headers": headers}
        state.requests.append(request | ({"body": json.loads(body)} if body else {}))
        state.asked.set()
        answer = answers[min(len(state.requests), len(answers)) - 1]
        if answer.hangs:
            await reader.read()  # until the client leaves
            return
        kind, data = answer.data()
        length = len(data) + (100 if answer.cuts else 0)
        extra = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
        writer.write(
            f"HTTP/1.1 {answer.status} X\r\nContent-Type: {kind}\r\nConnection: close\r\n"
            f"{extra}Content-Length: {length}\r\n\r\n".encode()
            + data
        )
        await writer.drain()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    state.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        async with server:
            yield state
    finally:
        for writer in writers:
            writer.close()

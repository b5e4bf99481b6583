"""A loopback site with any answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any


@dataclass
class WebSite:
    """Answers by path: type and bytes, or a status with headers."""

    url: str = ""
    port: int = 0
    pages: dict[str, Any] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)


@asynccontextmanager
async def web_site(pages: Mapping[str, Any], host: str = "127.0.0.1") -> AsyncIterator[WebSite]:
    """Serve ``pages``: path → ``(type, body)`` or ``(status, headers, body)``."""
    state = WebSite(pages=dict(pages))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            path = head[0].split(" ")[1]
            headers = {
                name.lower(): value
                for name, _, value in (line.partition(": ") for line in head[1:] if line)
            }
            state.requests.append((path, headers))
            page = state.pages.get(path, (404, {}, b"no such page"))
            status, named, body = (
                page if len(page) == 3 else (200, {"Content-Type": page[0]}, page[1])
            )
            lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
            writer.write(
                f"HTTP/1.1 {status} X\r\nConnection: close\r\n{lines}"
                f"Content-Length: {len(body)}\r\n\r\n".encode()
            )
            writer.write(body)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, host, 0)
    state.port = server.sockets[0].getsockname()[1]
    state.url = f"http://{host}:{state.port}"
    async with server:
        yield state

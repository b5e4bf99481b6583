"""A small real HTTP server for tests: paths to JSON, on a port that the system chooses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

NOWHERE = dict.fromkeys(
    ("OLLAMA_HOST", "LLAMA_BASE_URL", "LMSTUDIO_BASE_URL", "VLLM_BASE_URL"), "127.0.0.1:9"
)
"""Variables that hide the local model servers of a developer."""


@dataclass
class Site:
    """The URL of the server and its received requests."""

    url: str = ""
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)


@asynccontextmanager
async def site(pages: Mapping[str, Any]) -> AsyncIterator[Site]:
    """Serve ``pages``: path → JSON value, or ``(status, value)``; anything else is a 404.

    The value of a redirect is its target.
    """
    state = Site()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {
            name.lower(): value
            for name, _, value in (line.partition(": ") for line in head[1:] if line)
        }
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        state.asked.append((method, path, headers, body))
        page = pages.get(path, (404, {"error": "not found"}))
        status, value = page if isinstance(page, tuple) else (200, page)
        content = value if isinstance(value, bytes) else json.dumps(value).encode()
        target = f"Location: {value}\r\n" if 300 <= status < 400 else ""
        writer.write(
            f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nConnection: close\r\n"
            f"{target}Content-Length: {len(content)}\r\n\r\n".encode()
            + content
        )
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    state.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield state

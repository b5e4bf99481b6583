"""Sessions whose model reads addresses, and a loopback site with any answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pi.ai.messages import Text, ToolResultMessage
from pi.ai.providers.faux import calls, says
from pi.batteries.web_pages.adapter import SETTINGS, GitHubHosts, WebPages
from pi.extension import ExtensionAPI
from tests.coding.extension_host.extension_session import ExtensionFixture, extension_session


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


@asynccontextmanager
async def reading(
    tmp_path: Path,
    *reads: Mapping[str, Any],
    allow: tuple[str, ...] = (),
    hosts: GitHubHosts | None = None,
    **options: Any,
) -> AsyncIterator[ExtensionFixture]:
    """A session whose model makes these calls of ``read``."""
    web = {"pages": True, "allowHosts": list(allow)} | options.pop("web", {})

    def extension(pi: ExtensionAPI) -> None:
        pi.settings.declare_all(SETTINGS)
        pages = WebPages(pi, hosts)
        pi.add_path_form(pages.parse, pages)

    steps = (*(calls("read", **read) for read in reads), says("done"))
    async with extension_session(
        tmp_path, extension, steps=steps, settings={"web": web}, **options
    ) as hosted:
        yield hosted


async def read_texts(
    tmp_path: Path, *reads: Mapping[str, Any] | str, allow: tuple[str, ...] = (), **options: Any
) -> list[str]:
    """The results as texts: errors start with ``! ``, pictures are shown as their type."""
    calls_of_read = [{"path": read} if isinstance(read, str) else read for read in reads]
    async with reading(tmp_path, *calls_of_read, allow=allow, **options) as hosted:
        await hosted.session.prompt("go")
        assert hosted.failures == []
        results = [m for m in hosted.session.messages if isinstance(m, ToolResultMessage)]
    return [("! " if m.is_error else "") + _text(m) for m in results]


def _text(message: ToolResultMessage) -> str:
    parts = [part.text if isinstance(part, Text) else part.mime_type for part in message.content]
    return "\n".join(parts)

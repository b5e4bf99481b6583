"""The proxy between the browser and the network, on a loopback port of this machine.

Chromium resolves no names itself: it sends every address to the proxy, which resolves the name,
checks the result and connects to the checked address. This includes redirects, frames and scripts
of pages, so no page can reach an address that the policy forbids.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias

from pi.extension import AddressRefused, HttpError, Record, Scope

MAX_HEAD = 256 * 1024
"""Maximum bytes of the headers of a request or response; cookies can be long."""
NOWHERE = ".invalid"
"""Top-level domain that never resolves (RFC 2606)."""
SERVICES = frozenset(
    {
        *("clients1.google.com", "clients2.google.com", "clients4.google.com"),
        *("android.clients.google.com", "mtalk.google.com", "sb-ssl.google.com"),
        *("update.googleapis.com", "safebrowsing.googleapis.com", "edgedl.me.gvt1.com"),
        *("content-autofill.googleapis.com", "passwordsleakcheck-pa.googleapis.com"),
        *("optimizationguide-pa.googleapis.com", "chromewebstore.googleapis.com"),
    }
)
"""Google services that receive data about pages and passwords; no option disables all of them."""
CHUNK = 64 * 1024
KEPT_REFUSALS = 100
_HOP_HEADERS = (b"connection", b"proxy-connection", b"keep-alive", b"proxy-authorization")

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect: TypeAlias = Callable[[str, int], Awaitable[Streams]]
"""Checks host and port, and connects; raises ``HttpError``."""


class ProxyRequest(Record):
    """The first line of a request to the proxy."""

    method: str
    host: str
    port: int
    path: str = ""
    """Empty for a tunnel."""


class BadProxyRequest(ValueError):
    """A request that is invalid, or for a host that is not for pages."""


class FilteringProxy:
    """Serves one browser until ``scope`` is closed."""

    def __init__(self, scope: Scope, connect: Connect) -> None:
        self._scope = scope
        self._connect = connect
        self._refused: deque[AddressRefused] = deque(maxlen=KEPT_REFUSALS)
        self.port = 0

    async def open(self) -> None:
        """Listen on a free port."""
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=MAX_HEAD)
        self.port = server.sockets[0].getsockname()[1]
        self._scope.on_close(server.close)

    @property
    def refused(self) -> list[AddressRefused]:
        """Addresses that were refused since the last ``take_refused``."""
        return list(self._refused)

    def take_refused(self) -> list[AddressRefused]:
        """Addresses that were refused since the last call, each once."""
        found = {each.message: each for each in self._refused}
        self._refused.clear()
        return list(found.values())

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._scope.closed:
            writer.close()
            return
        self._scope.spawn(self._serve(reader, writer), name="proxy connection")

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                await self._exchange(reader, writer)
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        try:
            request = parse_request(head)
            server_reader, server = await self._connect(request.host, request.port)
        except BadProxyRequest as error:
            writer.write(_answer("400 Bad Request", str(error)))
            return await writer.drain()
        except AddressRefused as error:
            self._refused.append(error)
            writer.write(_answer("403 Forbidden", error.message))
            return await writer.drain()
        except HttpError as error:
            writer.write(_answer("502 Bad Gateway", error.message))
            return await writer.drain()
        try:
            if request.path:
                server.write(forwarded_head(head, request))
                answering = self._forward_response(server_reader, writer)
            else:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                answering = _pipe(server_reader, writer)
            await _until_first(_pipe(reader, server), answering)
        finally:
            server.close()

    async def _forward_response(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Forward one response, with interim ones before it; then the connection is closed."""
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            interim = re.match(rb"HTTP/1\.[01] 1\d\d", head) is not None
            writer.write(head if interim else _closing(head))
            if not interim:
                return await _pipe(reader, writer)


def parse_request(head: bytes) -> ProxyRequest:
    """The method and target of ``CONNECT host:port`` or ``GET http://host/path``.

    Raises ``BadProxyRequest``.
    """
    line = head.partition(b"\r\n")[0].decode("latin-1")
    method, _, rest = line.partition(" ")
    target = rest.rpartition(" ")[0]
    if method == "CONNECT":
        host, port = _host_and_port(target, 443)
        return ProxyRequest(method=method, host=host, port=port)
    if not target.lower().startswith("http://"):
        raise BadProxyRequest("Only http:// addresses and tunnels are forwarded.")
    matched = re.match(r"([^/?#]*)(.*)", target[len("http://") :])
    assert matched is not None
    host, port = _host_and_port(matched[1].rpartition("@")[2], 80)
    path = matched[2] if matched[2].startswith("/") else f"/{matched[2]}"
    return ProxyRequest(method=method, host=host, port=port, path=path)


def _host_and_port(text: str, default: int) -> tuple[str, int]:
    matched = re.fullmatch(r"(\[[0-9A-Fa-f:.%]+\]|[^\[\]:\s]+)(?::(\d{1,5}))?", text)
    port = default if matched is None or matched[2] is None else int(matched[2])
    if matched is None or not 0 < port < 65536:
        raise BadProxyRequest("The address has no valid host and port.")
    if matched[1].lower().endswith(NOWHERE) or matched[1].lower() in SERVICES:
        raise BadProxyRequest("The host is not for pages.")
    return matched[1].strip("[]").lower(), port


def forwarded_head(head: bytes, request: ProxyRequest) -> bytes:
    """The headers for the server: only the path as target, and one request per connection."""
    first = f"{request.method} {request.path} HTTP/1.1".encode("latin-1")
    return _closing(first + b"\r\n" + head.partition(b"\r\n")[2])


def _closing(head: bytes) -> bytes:
    # One exchange per connection: a second request might be for another host.
    first, *lines = head[:-4].split(b"\r\n")
    forwarded = [
        line for line in lines if line.partition(b":")[0].strip().lower() not in _HOP_HEADERS
    ]
    return b"\r\n".join((first, *forwarded, b"Connection: close", b"", b""))


def _answer(status: str, message: str) -> bytes:
    body = f"pi: {message}\n".encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(CHUNK):
        writer.write(data)
        await writer.drain()


async def _until_first(*works: Awaitable[None]) -> None:
    """Run both directions until one of them ends."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

"""A proxy between a program that pi starts and the network: the browser, sandboxed commands.

The program resolves no names itself: it sends every address to the proxy, which resolves the name,
checks the result and connects to the checked address. Clients need the token of the proxy, because
any program of this machine can connect to a loopback port.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from base64 import b64encode
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from hmac import compare_digest
from pathlib import Path
from typing import TypeAlias

from pi.ai.http.addresses import AddressRefused
from pi.ai.http.errors import HttpError
from pi.base.records import Record
from pi.coding.extension_host.scope import Scope

MAX_HEAD = 256 * 1024
"""Maximum bytes of the headers of a request or response; cookies can be long."""
CHUNK = 64 * 1024
KEPT_REFUSALS = 100
USER = "pi"
"""The user name of the credentials; the password is the token."""
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
    """A request that is invalid."""


class FilteringProxy:
    """Serves one program and its children until ``scope`` is closed."""

    def __init__(self, scope: Scope, connect: Connect) -> None:
        self._scope = scope
        self._connect = connect
        self._refused: deque[AddressRefused] = deque(maxlen=KEPT_REFUSALS)
        self.port = 0
        self.token = secrets.token_urlsafe(24)
        """The password of the user ``pi``, which every request has to contain."""

    async def open(self, socket: Path | None = None) -> None:
        """Listen on a free port, or on a Unix socket that is created at a path."""
        if socket is not None:
            server = await asyncio.start_unix_server(self._accept, socket, limit=MAX_HEAD)
        else:
            server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=MAX_HEAD)
            self.port = server.sockets[0].getsockname()[1]
        self._scope.on_close(server.close)

    @property
    def refused(self) -> list[AddressRefused]:
        """Addresses that were refused since the last ``take_refused``."""
        return list(self._refused)

    def take_refused(self) -> list[AddressRefused]:
        """Addresses that were refused since the last call, each once."""
        refusals = {refusal.message: refusal for refusal in self._refused}
        self._refused.clear()
        return list(refusals.values())

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
        if not self._is_authorized(head):
            writer.write(
                _error_response("407 Proxy Authentication Required", "The token is missing.")
            )
            return await writer.drain()
        try:
            request = parse_request(head)
            server_reader, server = await self._connect(request.host, request.port)
        except BadProxyRequest as error:
            writer.write(_error_response("400 Bad Request", str(error)))
            return await writer.drain()
        except AddressRefused as error:
            self._refused.append(error)
            writer.write(_error_response("403 Forbidden", error.message))
            return await writer.drain()
        except HttpError as error:
            writer.write(_error_response("502 Bad Gateway", error.message))
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

    def _is_authorized(self, head: bytes) -> bool:
        """Whether a request has the token. The answer takes as long for any wrong one."""
        expected = b"basic " + b64encode(f"{USER}:{self.token}".encode())
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"proxy-authorization":
                scheme, _, credentials = value.strip().partition(b" ")
                return compare_digest(scheme.lower() + b" " + credentials.strip(), expected)
        return False

    async def _forward_response(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Forward one response, with interim ones before it; then the connection is closed."""
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            interim = re.match(rb"HTTP/1\.[01] 1\d\d", head) is not None
            writer.write(head if interim else _with_close(head))
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
    return matched[1].strip("[]").lower(), port


def forwarded_head(head: bytes, request: ProxyRequest) -> bytes:
    """The headers for the server: only the path as target, and one request per connection."""
    first = f"{request.method} {request.path} HTTP/1.1".encode("latin-1")
    return _with_close(first + b"\r\n" + head.partition(b"\r\n")[2])


def _with_close(head: bytes) -> bytes:
    # One exchange per connection: a second request might be for another host.
    first, *lines = head[:-4].split(b"\r\n")
    forwarded = [
        line for line in lines if line.partition(b":")[0].strip().lower() not in _HOP_HEADERS
    ]
    return b"\r\n".join((first, *forwarded, b"Connection: close", b"", b""))


def _error_response(status: str, message: str) -> bytes:
    body = f"pi: {message}\n".encode()
    challenge = 'Proxy-Authenticate: Basic realm="pi"\r\n' if status.startswith("407") else ""
    head = (
        f"HTTP/1.1 {status}\r\n{challenge}Content-Type: text/plain; charset=utf-8\r\n"
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

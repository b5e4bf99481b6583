"""The loopback callback of a login: a listener on this machine that receives the code."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from contextlib import suppress
from hmac import compare_digest
from html import escape
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl

from pi.ai.auth.errors import LoginFailed
from pi.base.records import Record

READ_SECONDS = 10.0

ANSWER_SECONDS = 2.0
"""Seconds that the end of a login waits for pages that are being sent to the browser."""

LARGEST_HEAD = 32 * 1024

MOST_IDLE = 32
"""Maximum of connections without a complete request, so that a flood leaves descriptors free."""

_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>pi</title>
<style>body{{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem}}
@media (prefers-color-scheme:dark){{body{{background:#111;color:#ddd}}}}</style></head>
<body><h1>{title}</h1><p>{text}</p></body></html>
"""

_MIX_UP = "This may be an attempt to steal a login. Start again only if you trust the server."


class ExpectedIssuer(Record):
    """The authorization server that an answer has to name (RFC 9207).

    Without the check a malicious server can pass off the code of another one as its own, and pi
    would send that code to it.
    """

    name: str = ""
    """Empty if it is not known; then every answer is accepted."""
    is_required: bool = False
    """Whether the server announces that its answers name it."""

    def problem(self, issuer: str) -> str:
        """Why an answer with this ``iss`` is refused; empty if it is accepted."""
        if not self.name or issuer == self.name:
            return ""
        if issuer:
            return f"The login was answered by {issuer[:200]!r} instead of {self.name!r}."
        if self.is_required:
            return f"The answer to the login does not name its server {self.name!r}."
        return ""


class CallbackListener:
    """Listens on loopback only, until the browser sends a code.

    A request with another path or state is answered and ignored. If the port is taken,
    ``listening`` is False and the code has to be pasted. ``state`` is None for a vendor that sends
    none back; then the path has to be unguessable. ``issuer`` refuses answers of other servers.
    """

    def __init__(
        self,
        *,
        path: str,
        state: str | None,
        port: int = 0,
        issuer: ExpectedIssuer | None = None,
        host: str = "localhost",
    ) -> None:
        self.parameters: Mapping[str, str] = {}
        """The parameters of the answer, once it has arrived."""
        self._host = host
        self._path = path
        self._state = state
        self._issuer = issuer or ExpectedIssuer()
        self._port = port
        self._servers: list[asyncio.Server] = []
        self._handlers: set[asyncio.Task[None]] = set()
        self._idle: dict[asyncio.StreamWriter, None] = {}
        """Connections that have not sent a whole request yet, the oldest first."""
        self._closed = False
        self._code: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @property
    def listening(self) -> bool:
        """Whether the port could be opened."""
        return bool(self._servers)

    @property
    def redirect_uri(self) -> str:
        """The redirect URI, known once the listener is entered."""
        return f"http://{self._host}:{self._port}{self._path}"

    async def code(self) -> str:
        """Wait for the code; raises ``LoginFailed`` if the user or the vendor refused."""
        return await asyncio.shield(self._code)

    async def __aenter__(self) -> Self:
        for sock in self._sockets():
            self._servers.append(
                await asyncio.start_server(self._serve_connection, sock=sock, limit=LARGEST_HEAD)
            )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for server in self._servers:
            server.close()
        self._closed = True
        # Not cancelled: Python 3.11 prints a traceback for a cancelled connection handler.
        for writer in self._idle:
            writer.transport.abort()
        if self._handlers:
            await asyncio.wait(self._handlers, timeout=ANSWER_SECONDS)
        for server in self._servers:
            await server.wait_closed()
        if self._code.done():
            self._code.exception()  # retrieved, also if a code was pasted first
        self._code.cancel()

    def _sockets(self) -> list[socket.socket]:
        """Return sockets for both loopback addresses on one port; IPv6 only if available."""
        try:
            sockets = [socket.create_server(("127.0.0.1", self._port))]
        except OSError:
            return []
        self._port = sockets[0].getsockname()[1]
        with suppress(OSError):
            sockets.append(socket.create_server(("::1", self._port), family=socket.AF_INET6))
        return sockets

    async def _serve_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if self._closed:  # accepted while the listener was closing
            writer.transport.abort()
            return
        handler = asyncio.current_task()
        assert handler is not None
        self._handlers.add(handler)
        self._idle[writer] = None
        if len(self._idle) > MOST_IDLE:  # a browser sends its request at once
            next(iter(self._idle)).transport.abort()
        try:
            async with asyncio.timeout(READ_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                self._idle.pop(writer, None)
                writer.write(self._answer_request(head.decode("latin-1")))
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # not HTTP, or closed
        finally:
            self._idle.pop(writer, None)
            self._handlers.discard(handler)
            writer.close()

    def _answer_request(self, head: str) -> bytes:
        request_line, _, headers = head.partition("\r\n")
        method, _, rest = request_line.partition(" ")
        path, _, parameters = rest.partition(" ")[0].partition("?")
        query = dict(parse_qsl(parameters))
        if not _is_for_loopback(headers):
            return _page(421, "Another host", "This address is for this machine only.")
        if path != self._path:
            return _page(404, "Not here", "There is nothing at this address.")
        if method != "GET":
            return _page(405, "Not like this", "This address is for browsers only.")
        if self._state is not None and not _equal(query.get("state", ""), self._state):
            return _page(400, "Another login", "This answer belongs to another or older login.")
        return self._finish_login(query)

    def _finish_login(self, query: Mapping[str, str]) -> bytes:
        """Read the code or the refusal of an answer to this login. Returns a page for the user."""
        if mismatch := self._issuer.problem(query.get("iss", "")):
            self._decide(LoginFailed(mismatch, hint=_MIX_UP))
            return _page(400, "Not logged in", mismatch)
        if "error" in query:
            reason = query.get("error_description", query["error"])
            self._decide(LoginFailed(f"The login was refused: {reason}"))
            return _page(200, "Not logged in", f"The login was refused: {reason}")
        if not query.get("code"):
            return _page(400, "No code", "The answer holds no code.")
        self.parameters = query
        self._decide(query["code"])
        return _page(200, "Almost there", "Close this page and go back to pi.")

    def _decide(self, outcome: str | LoginFailed) -> None:
        if self._code.done():
            return  # a page that was loaded twice
        if isinstance(outcome, str):
            self._code.set_result(outcome)
        else:
            self._code.set_exception(outcome)


def _is_for_loopback(headers: str) -> bool:
    """Whether the request names this machine, and nothing else, as its host.

    Another host name is DNS rebinding: its record was pointed to this machine. Every browser sends
    exactly one Host field, so a request with none or with several comes from another program.
    """
    fields = (line.partition(":") for line in headers.split("\r\n"))
    hosts = [value.strip().lower() for name, _, value in fields if name.strip().lower() == "host"]
    if len(hosts) != 1:
        return False
    return hosts[0] in _HOSTS or hosts[0].rpartition(":")[0] in _HOSTS


def _equal(received: str, expected: str) -> bool:
    return compare_digest(received.encode(), expected.encode())


def _page(status: int, title: str, text: str) -> bytes:
    body = _PAGE.format(title=escape(title), text=escape(text)).encode()
    head = "\r\n".join(
        (
            f"HTTP/1.1 {status} {title}",
            "Content-Type: text/html; charset=utf-8",
            f"Content-Length: {len(body)}",
            "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'",
            "Referrer-Policy: no-referrer",
            "Cache-Control: no-store",
            "Connection: close",
            "\r\n",
        )
    )
    return head.encode() + body

"""The place on this machine that the browser comes back to."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from hmac import compare_digest
from html import escape
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl

from pi.ai.auth.errors import LoginFailed

READ_SECONDS = 10.0
ANSWER_SECONDS = 2.0
"""How long the end of a login waits for pages that are on their way to the browser."""
LARGEST_HEAD = 32 * 1024

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>pi</title>
<style>body{{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem}}
@media (prefers-color-scheme:dark){{body{{background:#111;color:#ddd}}}}</style></head>
<body><h1>{title}</h1><p>{text}</p></body></html>
"""


class CallbackListener:
    """Listens on the loopback, and nowhere else, until the browser brings a code.

    A request with another path or state is answered and forgotten: it is not the one we wait for.
    If the port is taken, ``listening`` is False and the code has to be pasted. ``state`` is None
    for a vendor that sends none back; then the path has to be unguessable.
    """

    def __init__(self, *, path: str, state: str | None, port: int = 0) -> None:
        self._path = path
        self._state = state
        self._port = port
        self._servers: list[asyncio.Server] = []
        self._visits: set[asyncio.Task[None]] = set()
        self._idle: set[asyncio.StreamWriter] = set()
        """Connections that have not sent a whole request yet."""
        self._closed = False
        self._code: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @property
    def listening(self) -> bool:
        """Whether the browser will find us."""
        return bool(self._servers)

    @property
    def redirect_uri(self) -> str:
        """Where to send the browser, known once the listener is entered."""
        return f"http://localhost:{self._port}{self._path}"

    async def code(self) -> str:
        """Wait for the code; ``LoginFailed`` if the person or the vendor refused."""
        return await asyncio.shield(self._code)

    async def __aenter__(self) -> Self:
        for sock in self._sockets():
            self._servers.append(
                await asyncio.start_server(self._visited, sock=sock, limit=LARGEST_HEAD)
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
        if self._visits:
            await asyncio.wait(self._visits, timeout=ANSWER_SECONDS)
        for server in self._servers:
            await server.wait_closed()
        if self._code.done():
            self._code.exception()  # seen, even if the person was faster
        self._code.cancel()

    def _sockets(self) -> list[socket.socket]:
        """Both loopback addresses on one port; IPv6 only where there is one."""
        try:
            found = [socket.create_server(("127.0.0.1", self._port))]
        except OSError:
            return []
        self._port = found[0].getsockname()[1]
        with suppress(OSError):
            found.append(socket.create_server(("::1", self._port), family=socket.AF_INET6))
        return found

    async def _visited(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._closed:  # accepted while the listener was closing
            writer.transport.abort()
            return
        visit = asyncio.current_task()
        assert visit is not None
        self._visits.add(visit)
        self._idle.add(writer)
        try:
            async with asyncio.timeout(READ_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                self._idle.discard(writer)
                writer.write(self._answer(head.partition(b"\r\n")[0].decode("latin-1")))
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # not HTTP, or closed
        finally:
            self._idle.discard(writer)
            self._visits.discard(visit)
            writer.close()

    def _answer(self, request_line: str) -> bytes:
        method, _, rest = request_line.partition(" ")
        path, _, parameters = rest.partition(" ")[0].partition("?")
        query = dict(parse_qsl(parameters))
        if path != self._path:
            return _page(404, "Not here", "There is nothing at this address.")
        if method != "GET":
            return _page(405, "Not like this", "This address is for browsers only.")
        if self._state is not None and not _equal(query.get("state", ""), self._state):
            return _page(400, "Another login", "This answer belongs to another or older login.")
        if problem := query.get("error"):
            why = query.get("error_description", problem)
            self._decide(LoginFailed(f"The login was refused: {why}"))
            return _page(200, "Not logged in", f"The login was refused: {why}")
        if not query.get("code"):
            return _page(400, "No code", "The answer holds no code.")
        self._decide(query["code"])
        return _page(200, "Almost there", "Close this page and go back to pi.")

    def _decide(self, outcome: str | LoginFailed) -> None:
        if self._code.done():
            return  # a page that was loaded twice
        if isinstance(outcome, str):
            self._code.set_result(outcome)
        else:
            self._code.set_exception(outcome)


def _equal(given: str, expected: str) -> bool:
    return compare_digest(given.encode(), expected.encode())


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

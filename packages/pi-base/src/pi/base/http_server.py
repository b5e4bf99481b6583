"""HTTP servers with aiohttp, hardened against hostile clients: no tracebacks, no endless waits.

Import this module only where a server starts: aiohttp belongs to optional extras.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from aiohttp import web
from aiohttp.http import HttpProcessingError

from pi.base.errors import PiError

REQUEST_SECONDS: Final = 20.0
"""A connection without a whole request after that time is closed."""
KEEP_ALIVE_SECONDS: Final = 75.0
"""For a connection between two requests; aiohttp would keep it for an hour."""
SWEEP_SECONDS: Final = 5.0
SLOWEST_BODY: Final = 16 * 1024
"""Minimum bytes per second of a body, after ``REQUEST_SECONDS``."""
STALLED_SECONDS: Final = 30.0
"""A connection is closed if its client reads none of the pending data for that time."""


def _is_no_bad_request(record: logging.LogRecord) -> bool:
    """Whether a log record is not about invalid HTTP or a lost connection.

    aiohttp logs a traceback for each of these: any client could fill the disk.
    """
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError | ConnectionError)


SERVER_LOG = logging.getLogger(__name__)
"""The logger of servers."""
SERVER_LOG.addFilter(_is_no_bad_request)


class WaitingConnections:
    """Closes connections that send no request, half of one, or read no answer.

    aiohttp would wait for them without end.
    """

    def __init__(self, seconds: float, now: Callable[[], float]) -> None:
        self._seconds = seconds
        self._now = now
        self._since: dict[Any, float] = {}
        """When a connection was first seen; infinity once it has sent a request."""
        self._bodies: dict[Any, tuple[web.BaseRequest, float]] = {}
        """Requests whose body is incomplete, and when their head arrived."""
        self._unread: dict[Any, tuple[int, float]] = {}
        """Unsent bytes of a response, and since when their number is unchanged."""

    @web.middleware
    async def note_request(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Middleware that calls ``note`` for every request."""
        self.note(request)
        return await handler(request)

    def note(self, request: web.BaseRequest) -> None:
        """Record that the head of ``request`` has arrived on its connection."""
        self._since[request.protocol] = math.inf
        if not request.content.is_eof():
            self._bodies[request.protocol] = request, self._now()

    def close_slow(self, connections: Iterable[Any]) -> None:
        """Close those of ``connections`` that have waited for too long."""
        now = self._now()
        self._since = {connection: self._since.get(connection, now) for connection in connections}
        self._bodies = {
            connection: (request, begun)
            for connection, (request, begun) in self._bodies.items()
            if connection in self._since and not request.content.is_eof()
        }
        for connection, since in self._since.items():
            if now - since >= self._seconds or self._is_slow_body(connection, now):
                connection.force_close()
        self._close_unread(now)

    def _is_slow_body(self, connection: Any, now: float) -> bool:
        if connection not in self._bodies:
            return False
        request, begun = self._bodies[connection]
        return now - begun >= self._seconds + request.content.total_bytes / SLOWEST_BODY

    def _close_unread(self, now: float) -> None:
        before, self._unread = self._unread, {}
        for connection in self._since:
            transport = connection.transport
            if transport is None or not (size := transport.get_write_buffer_size()):
                continue
            last_size, since = before.get(connection, (size, now))
            since = since if last_size == size else now
            self._unread[connection] = size, since
            if now - since >= STALLED_SECONDS:
                transport.abort()  # closing would wait until the client has read the rest


@asynccontextmanager
async def serve_http(
    app: web.Application, host: str, port: int, *, cancels_handlers: bool = False
) -> AsyncIterator[int]:
    """Listen until the block is left; yields the port. Raises ``PiError`` if it is taken.

    With ``cancels_handlers``, a client that goes away cancels its handler.
    """
    waiting = WaitingConnections(REQUEST_SECONDS, time.monotonic)
    app.middlewares.insert(0, waiting.note_request)
    runner = web.AppRunner(
        app,
        access_log=None,
        handler_cancellation=cancels_handlers,
        shutdown_timeout=1.0,
        logger=SERVER_LOG,
        keepalive_timeout=KEEP_ALIVE_SECONDS,
    )
    await runner.setup()
    sweeping = asyncio.create_task(_sweep(waiting, runner), name="slow connections")
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            raise PiError(
                f"Cannot listen on {host}:{port}: {error.strerror or error}.",
                hint="Choose another port with --port.",
            ) from error
        yield runner.addresses[0][1]
    finally:
        sweeping.cancel()
        with suppress(asyncio.CancelledError):
            await sweeping
        await runner.cleanup()


async def _sweep(waiting: WaitingConnections, runner: web.AppRunner) -> None:
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        if runner.server is not None:
            waiting.close_slow(runner.server.connections)

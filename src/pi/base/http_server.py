"""HTTP servers with aiohttp that hold against what strangers send: no tracebacks, no endless waits.

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


def _is_no_bad_request(record: logging.LogRecord) -> bool:
    """Whether a log record is about more than bytes that are not HTTP.

    aiohttp logs a traceback for each of them: anyone could fill the disk with it.
    """
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError)


SERVER_LOG = logging.getLogger(__name__)
"""The logger of servers."""
SERVER_LOG.addFilter(_is_no_bad_request)


class WaitingConnections:
    """Closes connections that send no request: aiohttp would wait for it without end."""

    def __init__(self, seconds: float, now: Callable[[], float]) -> None:
        self._seconds = seconds
        self._now = now
        self._since: dict[Any, float] = {}
        """When a connection was first seen; infinity once it has sent a request."""

    @web.middleware
    async def note_request(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """A middleware: the head of a request has arrived."""
        self.note(request)
        return await handler(request)

    def note(self, request: web.BaseRequest) -> None:
        """The connection of this request is not waited for any more."""
        self._since[request.protocol] = math.inf

    def close_slow(self, connections: Iterable[Any]) -> None:
        """Close those that have waited for too long."""
        now = self._now()
        self._since = {each: self._since.get(each, now) for each in connections}
        for connection, since in self._since.items():
            if now - since >= self._seconds:
                connection.force_close()


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

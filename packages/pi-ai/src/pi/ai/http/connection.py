"""One socket to one server: an asyncio protocol that carries one exchange at a time.

A waiting task (for the head, for body bytes, for room to write) waits on one future, which every
event on the socket wakes. Pieces of a body are collected until they are taken, so that a slow
reader gets few large reads and a fast one gets each packet at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import ssl
from typing import cast

from pi.ai.http.errors import (
    BadResponse,
    BodyTruncated,
    ConnectionLost,
    HttpError,
    TimedOut,
    TimeoutKind,
    os_reason,
)
from pi.ai.http.response_parser import (
    Malformed,
    ResponseParser,
)
from pi.ai.http.tls import tls_failure

KEEP_ALIVE_SECONDS = 90.0
LINGER_SECONDS = 0.5
LINGER_BYTES = 16 * 1024
"""Bytes that may still arrive after the reader has finished, so that the connection is kept."""
HIGH_WATER = 256 * 1024
"""Unread bytes above which reading is paused."""
_FOREVER = 10.0 * 365 * 24 * 3600
_PROBES = (("TCP_KEEPIDLE", 60), ("TCP_KEEPALIVE", 60), ("TCP_KEEPINTVL", 60), ("TCP_KEEPCNT", 5))


class Connection(asyncio.Protocol):
    """A socket from its opening to its end; ``peer`` is the name of the server in error messages.

    It is in ``registry`` while its socket is open.
    """

    def __init__(self, peer: str, registry: set[Connection]) -> None:
        self._loop = asyncio.get_running_loop()
        self.peer = peer
        self.write_blocked = False
        """Whether the transport's write buffer is full."""
        self.ended = False
        """Whether no further exchange can begin."""
        self.closed: asyncio.Future[None] = self._loop.create_future()
        self._registry = registry
        self._transport: asyncio.Transport
        self._error: Exception | None = None
        self._failure: HttpError | None = None
        self._parser: ResponseParser | None = None
        self._unread = 0
        self._paused = False
        self._lingering = False
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    # Exchange -------------------------------------------------------------------------------------

    def begin(self, parser: ResponseParser) -> None:
        """Pass data that arrives from now on to ``parser``."""
        self._set_timer(None)
        self._parser = parser
        self._unread = 0
        if self.ended:
            self._failure = self._loss(parser)

    def write(self, data: bytes | memoryview) -> None:
        """Send ``data``; check ``write_blocked`` before sending more."""
        if not self._transport.is_closing():
            self._transport.write(data)

    async def wait(self, kind: TimeoutKind, seconds: float | None) -> None:
        """Wait for an event; raises ``TimedOut`` after ``seconds``, or the connection's error."""
        if self._failure is not None:
            raise self._failure
        waiter = self._waiter = self._loop.create_future()
        timer = None
        if seconds is not None:
            timer = self._loop.call_later(seconds, self._expire, waiter, kind, seconds)
        try:
            await waiter
        finally:
            self._waiter = None
            if timer is not None:
                timer.cancel()

    def take(self, parser: ResponseParser) -> bytes:
        """Return all body bytes that have arrived."""
        pieces = parser.body
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        self._unread = 0
        self._resume()
        return data

    def rest(self) -> None:
        """End the exchange; the connection becomes ``ready`` once the rest has arrived."""
        parser = self._parser
        if self.ended or parser is None:
            self.abort()
            return
        self._lingering = True
        self._unread = 0
        self._set_timer(LINGER_SECONDS)
        self._resume()
        self._settle(parser)

    @property
    def ready(self) -> bool:
        """Whether another exchange can begin."""
        return self._parser is None and not self.ended

    # Socket ---------------------------------------------------------------------------------------

    async def secure(self, context: ssl.SSLContext, host: str) -> None:
        """Start TLS with ``host``; raises ``ssl.SSLError`` or ``OSError`` if it fails."""
        plain = self._transport
        try:
            if self.ended:  # the handshake would wait for ever
                raise ConnectionResetError(errno.ECONNRESET, "closed before the handshake")
            secured = await self._loop.start_tls(
                plain, self, context, server_hostname=host, ssl_handshake_timeout=_FOREVER
            )
            if secured is None:
                raise ConnectionResetError(errno.ECONNRESET, "closed during the handshake")
        except BaseException:
            plain.abort()
            self.connection_lost(None)  # asyncio does not report it during a handshake
            raise
        self._transport = secured

    def abort(self) -> None:
        """Close the socket at once."""
        self.ended = True
        self._transport.abort()

    # Callbacks of asyncio -------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """asyncio: the socket is open."""
        self._transport = cast(asyncio.Transport, transport)
        self._registry.add(self)
        # A model may think for minutes; probes keep routers from dropping the connection.
        connected = transport.get_extra_info("socket")
        with contextlib.suppress(OSError):
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, value in _PROBES:
                if hasattr(socket, name):
                    connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)

    def data_received(self, data: bytes) -> None:
        """asyncio: bytes arrived."""
        parser = self._parser
        if parser is None:
            self.abort()  # data without a request: the server is about to close the connection
            return
        try:
            parser.feed(data)
        except Malformed as error:
            self._failure = BadResponse(f"The response of {self.peer} is malformed: {error}.")
            self.abort()
        self._unread += len(data)
        if self._lingering:
            self._settle(parser)
        elif self._unread > HIGH_WATER and not self._paused:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """asyncio: the server will send no more."""
        self._end(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """asyncio: the socket is closed."""
        self._registry.discard(self)
        if not self.closed.done():
            self.closed.set_result(None)
        self._end(exc)

    def pause_writing(self) -> None:
        """asyncio: the write buffer is full."""
        self.write_blocked = True

    def resume_writing(self) -> None:
        """asyncio: there is room to send more."""
        self.write_blocked = False
        self._wake()

    # Internals ------------------------------------------------------------------------------------

    def _end(self, error: Exception | None) -> None:
        self.ended = True
        self._error = self._error or error
        self._set_timer(None)
        parser = self._parser
        if parser is not None and self._failure is None:
            is_complete = parser.complete or (error is None and parser.end())
            self._failure = None if is_complete else self._loss(parser)
        self._wake()

    def _loss(self, parser: ResponseParser) -> HttpError:
        error = self._error
        if isinstance(error, ssl.SSLError):
            return tls_failure(self.peer, error)
        reason = os_reason(error) if isinstance(error, OSError) else "it closed the connection"
        if parser.head is not None:
            return BodyTruncated(f"The response of {self.peer} stopped early: {reason}.")
        return ConnectionLost(f"{self.peer} did not answer: {reason}.")

    def _settle(self, parser: ResponseParser) -> None:
        parser.body.clear()
        if parser.complete and parser.keep_alive:
            self._parser = None
            self._lingering = False
            self._set_timer(KEEP_ALIVE_SECONDS)
        elif parser.complete or not parser.keep_alive or self._unread > LINGER_BYTES:
            self.abort()

    def _resume(self) -> None:
        if self._paused:
            self._paused = False
            self._transport.resume_reading()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _expire(self, waiter: asyncio.Future[None], kind: TimeoutKind, seconds: float) -> None:
        if not waiter.done():
            name = kind.replace("_", "-")
            message = f"{self.peer} was silent for {seconds:g} s ({name} timeout)."
            waiter.set_exception(TimedOut(message, kind=kind))

    def _set_timer(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self._loop.call_later(seconds, self.abort)

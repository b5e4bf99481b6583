"""One socket to one server: an asyncio protocol that carries one exchange at a time.

A waiting task (for the head, for body bytes, for room to write) waits on one future, which every
event on the socket wakes. Pieces of a body are collected until they are taken, so that a slow
reader gets few large reads and a fast one gets each packet at once. ``HttpExchange`` is one request
on it, ``ResponseStream`` its response: as a stream, or whole.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

import msgspec

from pi.ai.http.errors import (
    BadResponse,
    BodyTooLarge,
    BodyTruncated,
    ConnectionLost,
    HttpError,
    TimedOut,
    TimeoutKind,
    os_reason,
)
from pi.ai.http.request import Timeouts
from pi.ai.http.response_parser import (
    Headers,
    Inflater,
    Malformed,
    ResponseHead,
    ResponseParser,
    inflater_for,
)
from pi.ai.http.tls import tls_failure
from pi.base.records import UNREADABLE, Record

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


# Exchanges and responses --------------------------------------------------------------------------


_WRITE_SLICE = 128 * 1024


class HttpExchange:
    """Sends a request, then returns the bytes of the body as they arrive.

    With ``bodiless`` the response has no body, even if its headers announce one (HEAD, CONNECT).
    """

    def __init__(self, connection: Connection, timeouts: Timeouts, *, bodiless: bool) -> None:
        self.connection = connection
        self._timeouts = timeouts
        self.parser = ResponseParser(bodiless=bodiless)
        self._uploaded = False
        self._finished = False
        self._silence: float | None = None

    async def send(self, head: bytes, body: bytes = b"") -> ResponseHead:
        """Send a request and wait for the head of its response; a failure closes the socket."""
        parser = self.parser
        self.connection.begin(parser)
        try:
            await self._upload(head, body)
            while (answer := parser.head) is None:
                await self._wait("idle" if parser.started else "first_byte")
        except BaseException:
            self.cancel()
            raise
        return answer

    def allow_silence(self, seconds: float | None) -> None:
        """Set the timeout for further bytes of the body; ``None`` restores the default."""
        self._silence = seconds

    async def read(self) -> bytes:
        """Return all available bytes of the body; none at its end."""
        parser = self.parser
        if self._finished:
            raise ConnectionLost(
                f"The response of {self.connection.peer} was left before it was read."
            )
        while not parser.body:
            if parser.complete:
                return b""
            await self._wait("idle", self._silence)
        return self.connection.take(parser)

    def finish(self) -> bool:
        """End the exchange, read to its end or not; returns whether the connection may be kept."""
        self._finished = True
        if self._uploaded:
            self.connection.rest()
        else:
            self.connection.abort()
        return not self.connection.ended

    def cancel(self) -> None:
        """Close the socket at once."""
        self._finished = True
        self.connection.abort()

    async def _upload(self, head: bytes, body: bytes) -> None:
        connection, parser = self.connection, self.parser
        for piece in _slices(head, body):
            connection.write(piece)
            while connection.write_blocked:
                if parser.head is not None:
                    return  # the server answered early (401, 413): the rest is not needed
                await self._wait("idle")
        self._uploaded = True

    async def _wait(self, kind: TimeoutKind, seconds: float | None = None) -> None:
        await self.connection.wait(kind, seconds or self._timeouts.limit(kind))


def _slices(head: bytes, body: bytes) -> Iterator[bytes | memoryview]:
    yield head + body[:_WRITE_SLICE]
    rest = memoryview(body)[_WRITE_SLICE:]
    for start in range(0, len(rest), _WRITE_SLICE):
        yield rest[start : start + _WRITE_SLICE]


MAX_BODY_BYTES = 64 * 1024 * 1024
"""Default limit of a body that is read whole, decoded."""


class HttpResponse(Record):
    """A response with its whole body."""

    status: int
    headers: Headers
    body: bytes = b""
    url: str = ""
    """The URL it came from, after redirects."""

    @property
    def text(self) -> str:
        """The body as UTF-8, with replacement characters for invalid bytes."""
        return self.body.decode(errors="replace")

    def json(self) -> Any:
        """Return the body as JSON; raises ``BadResponse`` if it is not."""
        try:
            return msgspec.json.decode(self.body)
        except UNREADABLE as error:
            raise BadResponse(f"The response (status {self.status}) is not JSON.") from error


class ResponseStream:
    """A response whose body is still arriving."""

    def __init__(
        self, head: ResponseHead, exchange: HttpExchange, *, url: str = "", limit: int | None = None
    ) -> None:
        self.status = head.status
        self.headers = head.headers
        self.url = url
        """The URL it comes from, after redirects."""
        self.exchange = exchange
        self._limit = limit
        self._received = 0
        self._coding = head.headers.get("content-encoding").lower()
        self._inflater: Inflater | None = None

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives, decompressed; every item is all that is available."""
        return self

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self._coding in ("", "identity"):
            data = await self.exchange.read()
        else:
            data = await self._read_inflated()
        if not data:
            raise StopAsyncIteration
        if self._limit is not None:
            self._received += len(data)
            if self._received > self._limit:
                raise self._too_large(self._limit)
        return data

    async def read(self, *, limit: int = MAX_BODY_BYTES) -> bytes:
        """Return the rest of the body; raises ``BodyTooLarge`` if it exceeds ``limit``."""
        body = await self.read_prefix(limit + 1)
        if len(body) > limit:
            raise self._too_large(limit)
        return body

    async def read_prefix(self, limit: int) -> bytes:
        """Return the rest of the body, truncated to ``limit`` bytes."""
        pieces, remaining = [], limit
        async for chunk in self:
            pieces.append(chunk[:remaining])
            remaining -= len(chunk)
            if remaining <= 0:
                break
        return b"".join(pieces)

    def _too_large(self, limit: int) -> BodyTooLarge:
        peer = self.exchange.connection.peer
        return BodyTooLarge(f"The body from {peer} is larger than {limit} bytes.")

    async def _read_inflated(self) -> bytes:
        try:
            while True:
                if self._inflater is not None and (plain := self._inflater.take()):
                    # One read may inflate a thousandfold: let other tasks run between the steps.
                    await asyncio.sleep(0)
                    return plain
                data = await self.exchange.read()
                if not data:
                    return self._end_inflated()
                self._inflater = self._inflater or inflater_for(self._coding)
                self._inflater.feed(data)
        except ValueError as error:
            raise BadResponse(
                f"The body from {self.exchange.connection.peer} is damaged: {error}."
            ) from error

    def _end_inflated(self) -> bytes:
        if self._inflater is not None and not self._inflater.finished:
            raise BodyTruncated(
                f"The compressed body from {self.exchange.connection.peer} stopped early."
            )
        return b""

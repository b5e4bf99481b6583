"""One request on a connection and its response: as a stream, or whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec

from pi.ai.http.connection import Connection
from pi.ai.http.errors import (
    BadResponse,
    BodyTooLarge,
    BodyTruncated,
    ConnectionLost,
    TimeoutKind,
)
from pi.ai.http.request import Timeouts
from pi.ai.http.response_parser import (
    Headers,
    Inflater,
    ResponseHead,
    ResponseParser,
    inflater_for,
)
from pi.base.records import UNREADABLE, Record

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

"""One request and its response on a connection."""

from __future__ import annotations

from collections.abc import Iterator

from pi.ai.http.connection import Connection
from pi.ai.http.errors import ConnectionLost
from pi.ai.http.response_parser import ResponseHead, ResponseParser
from pi.ai.http.timeouts import TimeoutKind, Timeouts

_WRITE_SLICE = 128 * 1024


class Exchange:
    """Sends a request, then gives the bytes of the body as they arrive.

    ``bodiless`` says that the response has no body whatever its headers say (HEAD, CONNECT).
    """

    def __init__(self, connection: Connection, timeouts: Timeouts, *, bodiless: bool) -> None:
        self.connection = connection
        self._timeouts = timeouts
        self._parser = ResponseParser(bodiless=bodiless)
        self._uploaded = False
        self._finished = False
        self._silence: float | None = None

    @property
    def peer(self) -> str:
        """What error messages call the server."""
        return self.connection.peer

    @property
    def answered(self) -> bool:
        """Whether any byte of a response arrived."""
        return self._parser.started

    async def send(self, head: bytes, body: bytes = b"") -> ResponseHead:
        """Send a request and wait for the head of its response; on failure the socket is closed."""
        parser = self._parser
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
        """Wait only so long for further bytes of the body; ``None`` is as long as usual."""
        self._silence = seconds

    async def read(self) -> bytes:
        """The next bytes of the body, as many as there are; none at its end."""
        parser = self._parser
        if self._finished:
            raise ConnectionLost(f"The response of {self.peer} was left before it was read.")
        while not parser.body:
            if parser.complete:
                return b""
            await self._wait("idle", self._silence)
        return self.connection.take(parser)

    def finish(self) -> bool:
        """Leave the response, read to its end or not; whether the connection may be kept."""
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
        connection, parser = self.connection, self._parser
        for piece in _slices(head, body):
            connection.write(piece)
            while connection.write_blocked:
                if parser.head is not None:
                    return  # answered early (401, 413): the rest is not wanted
                await self._wait("idle")
        self._uploaded = True

    async def _wait(self, kind: TimeoutKind, seconds: float | None = None) -> None:
        await self.connection.wait(kind, seconds or self._timeouts.limit(kind))


def _slices(head: bytes, body: bytes) -> Iterator[bytes | memoryview]:
    yield head + body[:_WRITE_SLICE]
    rest = memoryview(body)[_WRITE_SLICE:]
    for start in range(0, len(rest), _WRITE_SLICE):
        yield rest[start : start + _WRITE_SLICE]

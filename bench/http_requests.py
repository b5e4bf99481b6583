"""Reads the requests of one HTTP connection and notes when each arrived."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field

import httptools

MAX_BODY = 256 * 1024 * 1024


class BadRequest(Exception):
    """The client does not speak HTTP/1.1, or sends more than ``MAX_BODY`` bytes."""


@dataclass(slots=True)
class HttpRequest:
    """One request; complete once ``body_ns`` is set."""

    method: str = ""
    target: bytes = b""
    headers: dict[bytes, bytes] = field(default_factory=dict)
    """Names in lower case."""
    body: bytearray = field(default_factory=bytearray)
    headers_ns: int = 0
    body_ns: int = 0
    keep_alive: bool = True

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition(b"?")[0].decode("latin-1")


class RequestReader:
    """Returns the requests of one connection, one after the other."""

    def __init__(self, stream: asyncio.StreamReader) -> None:
        self._stream = stream
        self._parser = httptools.HttpRequestParser(self)
        self._current = HttpRequest()
        self._complete: deque[HttpRequest] = deque()

    async def next(self) -> HttpRequest | None:
        """The next request, or None when the client closed the connection."""
        while not self._complete:
            data = await self._stream.read(1 << 18)
            if not data:
                return None
            try:
                self._parser.feed_data(data)
            except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
                raise BadRequest(str(error)) from error
            if len(self._current.body) > MAX_BODY:
                raise BadRequest(f"the body is longer than {MAX_BODY} bytes")
        return self._complete.popleft()

    def on_message_begin(self) -> None:
        """Called by the parser, as all methods below."""
        self._current = HttpRequest()

    def on_url(self, part: bytes) -> None:
        """A piece of the request's target."""
        self._current.target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        self._current.headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        """The body is next."""
        self._current.headers_ns = time.monotonic_ns()
        self._current.method = self._parser.get_method().decode()
        self._current.keep_alive = self._parser.should_keep_alive()

    def on_body(self, part: bytes) -> None:
        """A piece of the body."""
        self._current.body += part

    def on_message_complete(self) -> None:
        """The request is read."""
        self._current.body_ns = time.monotonic_ns()
        self._complete.append(self._current)

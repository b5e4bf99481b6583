"""What a server answered: as a stream, or whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import msgspec

from pi.ai.http.errors import BadResponse, BodyTooLarge, BodyTruncated
from pi.ai.http.exchange import Exchange
from pi.ai.http.headers import Headers
from pi.ai.http.response_parser import ResponseHead
from pi.base.records import UNREADABLE, Record

if TYPE_CHECKING:  # bodies are compressed only if a server insists
    from pi.ai.http.content_coding import Inflater

MAX_BODY_BYTES = 64 * 1024 * 1024
"""Decoded bytes of a body that is read whole, where the caller sets no lower limit."""


class HttpResponse(Record):
    """A response with its whole body."""

    status: int
    headers: Headers
    body: bytes = b""

    @property
    def text(self) -> str:
        """The body as UTF-8, with replacement characters where it is not."""
        return self.body.decode(errors="replace")

    def json(self) -> Any:
        """The body as JSON; ``BadResponse`` when it is something else."""
        try:
            return msgspec.json.decode(self.body)
        except UNREADABLE as problem:
            raise BadResponse(f"The response (status {self.status}) is not JSON.") from problem


class ResponseStream:
    """A response whose body is still on its way."""

    def __init__(self, head: ResponseHead, exchange: Exchange) -> None:
        self.status = head.status
        self.headers = head.headers
        self._exchange = exchange
        self._coding = head.headers.get("content-encoding").lower()
        self._inflater: Inflater | None = None

    def allow_silence(self, seconds: float | None) -> None:
        """From now on, raise ``TimedOut`` after such a silence; ``None`` is as long as usual."""
        self._exchange.allow_silence(seconds)

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives, decompressed; every item is all there is at that moment."""
        return self

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self._coding in ("", "identity"):
            data = await self._exchange.read()
        else:
            data = await self._read_inflated()
        if not data:
            raise StopAsyncIteration
        return data

    async def read(self, *, limit: int = MAX_BODY_BYTES) -> bytes:
        """The rest of the body; ``BodyTooLarge`` when it is larger than ``limit``."""
        body = await self.read_prefix(limit + 1)
        if len(body) > limit:
            raise BodyTooLarge(f"The body from {self._exchange.peer} is larger than {limit} bytes.")
        return body

    async def read_prefix(self, limit: int) -> bytes:
        """The rest of the body, but not more than ``limit`` bytes of it."""
        pieces, room = [], limit
        async for chunk in self:
            pieces.append(chunk[:room])
            room -= len(chunk)
            if room <= 0:
                break
        return b"".join(pieces)

    async def _read_inflated(self) -> bytes:
        from pi.ai.http.content_coding import inflater_for

        try:
            while True:
                if self._inflater is not None and (plain := self._inflater.take()):
                    # One read may inflate a thousandfold: let other tasks run between the steps.
                    await asyncio.sleep(0)
                    return plain
                data = await self._exchange.read()
                if not data:
                    return self._end_inflated()
                self._inflater = self._inflater or inflater_for(self._coding)
                self._inflater.feed(data)
        except ValueError as problem:
            raise BadResponse(
                f"The body from {self._exchange.peer} is damaged: {problem}."
            ) from problem

    def _end_inflated(self) -> bytes:
        if self._inflater is not None and not self._inflater.finished:
            raise BodyTruncated(f"The compressed body from {self._exchange.peer} stopped early.")
        return b""

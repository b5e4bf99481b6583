"""One WebSocket to the ChatGPT backend, and the conversation that it has carried.

The server remembers the last response of a connection, so a turn that follows it sends only the
new items. A socket carries one turn at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from pi.ai.builder import MessageBuilder
from pi.ai.errors import ProviderUnavailable
from pi.ai.event_stream import Flush
from pi.ai.json_text import json_text
from pi.ai.messages import Json
from pi.ai.wire.openai_responses.chaining import ResponseChain
from pi.ai.wire.openai_responses.response import ResponsesDecoder
from pi.ai.wire_support.response_limits import Allowance
from pi.ai.wire_support.sse import event_too_large
from pi.base.records import UNREADABLE, Record

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection


FORGOTTEN = frozenset({"previous_response_not_found", "websocket_connection_limit_reached"})
"""Errors after which the whole conversation is sent over a new socket."""
MESSAGE_TOO_BIG = 1009
"""The code with which the library closes a socket because of ``max_size``."""


class SocketLost(Exception):
    """The socket failed before anything of the response arrived.

    ``retryable`` says whether a new socket may work: a server that refuses upgrades will not.
    """

    def __init__(self, reason: str, *, retryable: bool = True) -> None:
        super().__init__(reason)
        self.retryable = retryable


class SocketBroken(ProviderUnavailable):
    """The socket ended or was silent in the middle of a response."""


class SocketRequest(Record):
    """One request, and the decoder and builder of its response."""

    payload: Json
    headers: tuple[tuple[str, str], ...]
    """For the handshake, if a socket has to be opened."""
    decoder: ResponsesDecoder
    builder: MessageBuilder
    flush: Flush
    output: Callable[[], list[Json]]
    """Returns the finished response as the items of the next request."""
    connect_seconds: float | None
    idle_seconds: float | None
    retries: tuple[float, ...] = ()
    """Seconds before each retry with a new socket."""


class CodexSocket:
    """An open connection; ``opened`` is the monotonic time of its opening."""

    def __init__(self, connection: ClientConnection, opened: float) -> None:
        self.opened = opened
        self._connection = connection
        self._chain = ResponseChain()

    @property
    def is_open(self) -> bool:
        """Whether it can carry a turn, as far as is known."""
        loop = asyncio.get_running_loop()
        return self._connection.loop is loop and self._connection.state.name == "OPEN"

    async def carry(self, turn: SocketRequest) -> None:
        """Send the request, and feed the response to the decoder until it has finished."""
        from websockets.exceptions import ConnectionClosed  # lazy: an optional dependency

        begun = False
        allowance = Allowance(turn.builder)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(turn.idle_seconds) as patience:
                await self._connection.send(json_text(self._request(turn.payload)))
                while not turn.decoder.finished:
                    frame = await self._connection.recv(decode=False)
                    if turn.idle_seconds is not None:
                        patience.reschedule(loop.time() + turn.idle_seconds)
                    allowance.spend(len(frame))
                    begun = begun or self._begins(frame, turn.builder)
                    if begun:
                        turn.decoder.feed([("", frame)])
                        turn.flush()
        except ConnectionClosed as error:
            if error.sent is not None and error.sent.code == MESSAGE_TOO_BIG:
                raise event_too_large() from error
            if not begun:
                raise SocketLost(str(error)) from error
            raise SocketBroken(f"The connection ended in the answer: {error}.") from error
        except TimeoutError as error:
            raise SocketBroken(f"The server was silent for {turn.idle_seconds:g} s.") from error
        self._remember(turn)

    async def close(self) -> None:
        """Close with a closing handshake."""
        if self._connection.loop is asyncio.get_running_loop():
            await self._connection.close()

    def abort(self) -> None:
        """Close at once, without a closing handshake."""
        self._connection.transport.abort()

    def _request(self, payload: Json) -> Json:
        """Return the whole request, or only the items since the turn that the server remembers."""
        fields = {name: value for name, value in payload.items() if name != "stream"}
        return {"type": "response.create", **self._chain.shortened(fields)}

    def _begins(self, frame: bytes, builder: MessageBuilder) -> bool:
        """Whether ``frame`` begins this turn's response; frames of an earlier turn may come
        late."""
        head = _read_head(frame)
        if (code := head.failure) in FORGOTTEN:
            raise SocketLost(code)
        if head.type == "error":
            return True
        if head.response is None or head.response.id == self._chain.response:
            return False
        builder.start()
        return True

    def _remember(self, turn: SocketRequest) -> None:
        self._chain.remember(turn.payload, turn.output(), turn.builder.response_id or "")


class _Problem(msgspec.Struct):
    code: str | None = None


class _Response(msgspec.Struct):
    id: str = ""
    error: _Problem | None = None


class _Head(msgspec.Struct):
    """The fields of the first frame of a turn that are checked."""

    type: str = ""
    code: str | None = None
    error: _Problem | None = None
    response: _Response | None = None

    @property
    def failure(self) -> str:
        """Return the error code of the frame, in any of its forms; or nothing."""
        inner = self.error or (self.response.error if self.response else None)
        return (inner.code if inner else self.code) or ""


def _read_head(frame: bytes) -> _Head:
    try:
        return msgspec.json.decode(frame, type=_Head)
    except UNREADABLE:
        return _Head()

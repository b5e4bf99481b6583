"""WebSockets to the ChatGPT backend that stay open between the turns of sessions.

A socket belongs to one account and one session, and is replaced before the server ends it. Needs
the ``codex`` extra; if a WebSocket is not available, the caller uses HTTP.
"""

from __future__ import annotations

import asyncio
import logging
from binascii import a2b_base64
from collections.abc import Callable
from contextlib import AsyncExitStack
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from weakref import WeakKeyDictionary

import msgspec

from pi.ai.builder import MessageBuilder
from pi.ai.errors import ProviderError, ProviderUnavailable
from pi.ai.event_stream import Flush
from pi.ai.http.client import HttpClient
from pi.ai.http.errors import HttpError
from pi.ai.http.proxy import Proxy
from pi.ai.http.url import parse_url
from pi.ai.json_text import json_text
from pi.ai.messages import Json
from pi.ai.request import Transport
from pi.ai.wire.openai_responses.chaining import Chain
from pi.ai.wire.openai_responses.response import ResponsesDecoder
from pi.ai.wire_support.exchange import Allowance, Services
from pi.ai.wire_support.sse import LARGEST_EVENT, event_too_large
from pi.base.clock import Clock
from pi.base.installation import extra_command
from pi.base.records import UNREADABLE, Record

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

log = logging.getLogger(__name__)


# One WebSocket, and the conversation that it has carried ------------------------------------------
#
# The server remembers the last response of a connection, so a turn that follows it sends only the
# new items. A socket carries one turn at a time.


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
        self._chain = Chain()

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


# Network settings of a WebSocket: proxy and certificates, as for HTTP requests --------------------


async def network_arguments(url: str, http: HttpClient) -> dict[str, Any]:
    """Return arguments for ``websockets.connect``; raises ``HttpError`` if they are unusable.

    ``url`` has the scheme ``ws`` or ``wss``.
    """
    plain = f"http{url.removeprefix('ws')}"
    proxy = http.proxy_for(plain)
    arguments: dict[str, Any] = {"proxy": proxy_url(proxy) if proxy else None}
    schemes = {"ssl": parse_url(plain).origin.scheme}
    if proxy is not None:
        schemes["proxy_ssl"] = proxy.origin.scheme
    if names := [name for name, scheme in schemes.items() if scheme == "https"]:
        arguments |= dict.fromkeys(names, await http.tls.get())
    return arguments


def proxy_url(proxy: Proxy) -> str:
    """Return ``proxy`` as a URL with its user and password."""
    encoded = proxy.authorization.removeprefix("Basic ")
    user, _, password = a2b_base64(encoded).decode().partition(":")
    userinfo = f"{quote(user, safe='')}:{quote(password, safe='')}@" if encoded else ""
    return f"{proxy.origin.scheme}://{userinfo}{proxy.origin.netloc}"


OLDEST = 55 * 60.0
"""Maximum age of a socket in seconds; the server ends it after sixty minutes."""
PASSING = frozenset({500, 502, 503, 504})
"""Statuses of a refused upgrade after which another attempt may succeed."""
CLOSE_SECONDS = 1.0
"""Timeout of the closing handshake."""


class Address(Record):
    """Turns with equal addresses may share a socket."""

    url: str
    account: str
    session: str


class CodexSockets:
    """Opens sockets, keeps them between turns, and records whether they work at all."""

    def __init__(self, clock: Clock, http: HttpClient) -> None:
        self._clock = clock
        self._http = http
        self._is_usable = _is_installed()
        self._idle: dict[Address, CodexSocket] = {}
        self._open: set[CodexSocket] = set()

    def should_use(self, transport: Transport, *, preferred: bool = False) -> bool:
        """Whether to use a WebSocket: if it is requested, or allowed and has never failed.

        If it is ``preferred``, an earlier failure does not count.
        """
        if transport == "websocket" and not _is_installed():
            raise ProviderError(
                "The websocket transport needs a library that is not installed:"
                f" run `{extra_command('codex')}`.",
                hint='Or set transport to "auto".',
            )
        if transport == "auto":
            return _is_installed() if preferred else self._is_usable
        return transport == "websocket"

    async def converse(self, address: Address, turn: SocketRequest) -> None:
        """Send the request and read the whole response.

        Raises ``SocketLost`` if no socket works after ``turn.retries``, before anything of the
        response has arrived, and ``ProviderError`` for everything else.
        """
        idle = self._take_idle(address)
        try:
            if idle is not None and await self._carried(address, idle, turn):
                return
            for wait in (*turn.retries, None):
                try:
                    await self._hold(address, await self._connect(address, turn), turn)
                    return
                except SocketLost as error:
                    if wait is None or not error.retryable:
                        raise
                    log.debug("a new WebSocket in %g s: %s", wait, error)
                await self._clock.sleep(wait)
        except (SocketLost, SocketBroken):
            self._is_usable = False
            raise

    async def close(self) -> None:
        """Close every socket, also those in use."""
        self._idle.clear()
        await asyncio.gather(*(socket.close() for socket in self._open))
        self._open.clear()

    def _take_idle(self, address: Address) -> CodexSocket | None:
        """Return an idle socket that is usable for another turn; others are closed."""
        for other, socket in list(self._idle.items()):
            if not socket.is_open or self._clock.monotonic() - socket.opened > OLDEST:
                del self._idle[other]
                self._drop(socket)
        return self._idle.pop(address, None)

    async def _carried(self, address: Address, idle: CodexSocket, turn: SocketRequest) -> bool:
        """Send the turn over an idle socket; returns False if the socket was lost.

        If it was closed or its state lost meanwhile, a new one gets the whole conversation.
        """
        try:
            await self._hold(address, idle, turn)
        except SocketLost:
            return False
        return True

    async def _hold(self, address: Address, socket: CodexSocket, turn: SocketRequest) -> None:
        try:
            await socket.carry(turn)
        except BaseException:
            self._drop(socket)
            raise
        if self._idle.setdefault(address, socket) is not socket:
            self._drop(socket)  # two turns of the session ran concurrently

    def _drop(self, socket: CodexSocket) -> None:
        self._open.discard(socket)
        socket.abort()

    async def _connect(self, address: Address, turn: SocketRequest) -> CodexSocket:
        # Lazy: the library is an optional dependency and takes 40 ms to load.
        from websockets.asyncio.client import connect
        from websockets.exceptions import (
            InvalidHandshake,
            InvalidMessage,
            InvalidStatus,
            WebSocketException,
        )

        def may_pass(error: Exception) -> bool:
            # A refused upgrade is refused again, and a silent server has taken long enough.
            if isinstance(error, InvalidStatus):
                return error.response.status_code in PASSING
            cut_off = isinstance(error, InvalidMessage)
            return cut_off or not isinstance(error, InvalidHandshake | TimeoutError)

        try:
            connection = await connect(
                address.url,
                additional_headers=turn.headers,
                user_agent_header=None,
                compression=None,
                max_size=LARGEST_EVENT,
                open_timeout=turn.connect_seconds,
                close_timeout=CLOSE_SECONDS,
                **await network_arguments(address.url, self._http),
            )
        except (OSError, HttpError, WebSocketException) as error:
            raise SocketLost(f"connecting failed: {error}", retryable=may_pass(error)) from error
        log.debug("connected to %s", address.url)
        socket = CodexSocket(connection, self._clock.monotonic())
        self._open.add(socket)
        return socket


def sockets_of(services: Services) -> CodexSockets:
    """Return the sockets of ``services``, closed together with them."""
    sockets = _sockets.get(services.closing)
    if sockets is None:
        sockets = _sockets[services.closing] = CodexSockets(services.clock, services.http)
        services.closing.push_async_callback(_close, services.closing)
    return sockets


_sockets: WeakKeyDictionary[AsyncExitStack, CodexSockets] = WeakKeyDictionary()


async def _close(owner: AsyncExitStack) -> None:
    await _sockets.pop(owner).close()


def _is_installed() -> bool:
    return find_spec("websockets") is not None

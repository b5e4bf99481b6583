"""WebSockets to the ChatGPT backend that stay open between the turns of sessions.

A socket belongs to one account and one session, and is replaced before the server ends it. Needs
the ``codex`` extra; if a WebSocket is not available, the caller uses HTTP.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from importlib.util import find_spec
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from pi.ai.errors import ProviderError
from pi.ai.http.client import HttpClient
from pi.ai.http.errors import HttpError
from pi.ai.request import Transport
from pi.ai.wire_support.exchange import Services
from pi.ai.wire_support.sse import LARGEST_EVENT
from pi.base.clock import Clock
from pi.base.installation import extra_command
from pi.base.records import Record

if TYPE_CHECKING:
    pass
from pi.ai.wire.openai_responses.codex_network import network_arguments
from pi.ai.wire.openai_responses.codex_websocket import (
    CodexSocket,
    SocketBroken,
    SocketLost,
    SocketRequest,
)

log = logging.getLogger(__name__)

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

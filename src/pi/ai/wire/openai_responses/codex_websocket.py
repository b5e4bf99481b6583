"""The WebSockets to the ChatGPT backend that stay open between the turns of sessions.

A socket belongs to one account and one session, and is replaced before the server ends it. Needs
the ``codex`` extra; where a WebSocket cannot be had, the caller asks over HTTP.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from importlib.util import find_spec
from weakref import WeakKeyDictionary

from pi.ai.errors import ProviderError
from pi.ai.exchange import Services
from pi.ai.http.client import HttpClient
from pi.ai.http.errors import HttpError
from pi.ai.request import Transport
from pi.ai.sse import LARGEST_EVENT
from pi.ai.wire.openai_responses.codex_network import network_arguments
from pi.ai.wire.openai_responses.codex_socket import CodexSocket, SocketBroken, SocketLost, Turn
from pi.base.clock import Clock
from pi.base.records import Record

log = logging.getLogger(__name__)

OLDEST = 55 * 60.0
"""Seconds after which a socket is replaced; the server ends it after sixty minutes."""
PASSING = frozenset({500, 502, 503, 504})
"""Statuses of a refused upgrade after which another attempt may succeed."""
CLOSE_SECONDS = 1.0
"""How long the server may take to say goodbye."""


class Address(Record):
    """Turns with equal addresses may share a socket."""

    url: str
    account: str
    session: str


class CodexSockets:
    """Opens sockets, keeps them between turns, and knows whether they work here at all."""

    def __init__(self, clock: Clock, http: HttpClient) -> None:
        self._clock = clock
        self._http = http
        self._promising = _is_installed()
        self._kept: dict[Address, CodexSocket] = {}
        self._open: set[CodexSocket] = set()

    def is_wanted(self, transport: Transport, *, preferred: bool = False) -> bool:
        """Whether to use a WebSocket: if it is asked for, or may be tried and has never failed.

        Where it is ``preferred``, an earlier failure does not count.
        """
        if transport == "websocket" and not _is_installed():
            raise ProviderError(
                "The websocket transport needs a library that is not installed:"
                " run `pip install 'pi-harness[codex]'`.",
                hint='Or set transport to "auto".',
            )
        if transport == "auto":
            return _is_installed() if preferred else self._promising
        return transport == "websocket"

    async def converse(self, address: Address, turn: Turn) -> None:
        """Ask and read the whole answer.

        Raises ``SocketLost`` if no socket can be had after ``turn.retries``, before anything of the
        answer has arrived, and ``ProviderError`` for everything else.
        """
        kept = self._take(address)
        try:
            if kept is not None and await self._carried(address, kept, turn):
                return
            for wait in (*turn.retries, None):
                try:
                    await self._hold(address, await self._connect(address, turn), turn)
                    return
                except SocketLost as problem:
                    if wait is None or not problem.retryable:
                        raise
                    log.debug("a new WebSocket in %g s: %s", wait, problem)
                await self._clock.sleep(wait)
        except (SocketLost, SocketBroken):
            self._promising = False
            raise

    async def close(self) -> None:
        """Close every socket, also those in use."""
        self._kept.clear()
        await asyncio.gather(*(socket.close() for socket in self._open))
        self._open.clear()

    def _take(self, address: Address) -> CodexSocket | None:
        """A socket that rests and is good for another turn; those that are not are closed."""
        for other, socket in list(self._kept.items()):
            if not socket.is_open or self._clock.monotonic() - socket.opened > OLDEST:
                del self._kept[other]
                self._drop(socket)
        return self._kept.pop(address, None)

    async def _carried(self, address: Address, kept: CodexSocket, turn: Turn) -> bool:
        """Whether a socket that rested could carry the turn.

        If it ended or forgot meanwhile, a new one gets the whole conversation.
        """
        try:
            await self._hold(address, kept, turn)
        except SocketLost:
            return False
        return True

    async def _hold(self, address: Address, socket: CodexSocket, turn: Turn) -> None:
        try:
            await socket.carry(turn)
        except BaseException:
            self._drop(socket)
            raise
        if self._kept.setdefault(address, socket) is not socket:
            self._drop(socket)  # two turns of the session ran side by side

    def _drop(self, socket: CodexSocket) -> None:
        self._open.discard(socket)
        socket.abort()

    async def _connect(self, address: Address, turn: Turn) -> CodexSocket:
        # Only here: the library comes with an extra and takes 40 ms to load.
        from websockets.asyncio.client import connect
        from websockets.exceptions import (
            InvalidHandshake,
            InvalidMessage,
            InvalidStatus,
            WebSocketException,
        )

        def may_pass(problem: Exception) -> bool:
            # A refused upgrade is refused again, and a silent server has taken long enough.
            if isinstance(problem, InvalidStatus):
                return problem.response.status_code in PASSING
            cut_off = isinstance(problem, InvalidMessage)
            return cut_off or not isinstance(problem, InvalidHandshake | TimeoutError)

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
        except (OSError, HttpError, WebSocketException) as problem:
            raise SocketLost(
                f"connecting failed: {problem}", retryable=may_pass(problem)
            ) from problem
        log.debug("connected to %s", address.url)
        socket = CodexSocket(connection, self._clock.monotonic())
        self._open.add(socket)
        return socket


def sockets_of(services: Services) -> CodexSockets:
    """The sockets of ``services``, closed together with them."""
    found = _sockets.get(services.closing)
    if found is None:
        found = _sockets[services.closing] = CodexSockets(services.clock, services.http)
        services.closing.push_async_callback(_close, services.closing)
    return found


_sockets: WeakKeyDictionary[AsyncExitStack, CodexSockets] = WeakKeyDictionary()


async def _close(owner: AsyncExitStack) -> None:
    await _sockets.pop(owner).close()


def _is_installed() -> bool:
    return find_spec("websockets") is not None

"""The connection to the relay: connects, sends, receives, reconnects."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, Protocol

from pi.batteries.collab.sealing import MAX_FRAME
from pi.extension import Clock, PiError

FIRST_WAIT: Final = 1.0
LONGEST_WAIT: Final = 30.0
STEADY_SECONDS: Final = 60.0
LOST_ROOM_SECONDS: Final = 300.0
"""How long a client that was in a room retries after ``NO_ROOM``."""
PING_SECONDS: Final = 10.0
OPEN_SECONDS: Final = 10.0

ENDINGS: Final = {
    1009: "the relay refused a frame that is too large",
    4001: "the room was closed",
    4004: "the room does not exist",
    4009: "the room has another host",
    4029: "the room or the relay is full",
}
"""Close codes after which the client does not reconnect."""
NO_ROOM: Final = 4004


class RoomEnded(PiError):
    """The relay has ended this connection for good."""

    def __init__(self, code: int, reason: str, hint: str = "") -> None:
        super().__init__(f"The connection to the relay has ended: {reason}.", hint=hint)
        self.code = code


class Side(Protocol):
    """The methods of a host or guest that the connection calls."""

    def on_open(self) -> None:
        """Called when a connection is open."""
        ...

    def on_lost(self) -> None:
        """Called when the connection is lost; the client reconnects."""
        ...

    def on_text(self, text: str) -> None:
        """Handle a text message of the relay."""
        ...

    def on_frame(self, data: bytes) -> None:
        """Handle a frame of the other side."""
        ...

    def next_frame(self) -> bytes | str | None:
        """Return the next message to send; ``None`` if there is none."""
        ...


def back_off(attempt: int, spread: Callable[[], float] = random.random) -> float:
    """Seconds before attempt number ``attempt``: 1, 2, 4 … 30, each ±25 %."""
    wait = min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(attempt, 10))
    return float(wait * (0.75 + spread() / 2))


class RelayClient:
    """Keeps one connection to a room."""

    def __init__(
        self, url: str, side: Side, clock: Clock, headers: Callable[[], Mapping[str, str]]
    ) -> None:
        self._url = url
        self._side = side
        self._clock = clock
        self._headers = headers
        self._wake = asyncio.Event()
        self._socket: Any = None
        self.ever_open = False

    @property
    def is_open(self) -> bool:
        """Whether there is a connection now."""
        return self._socket is not None

    def wake(self) -> None:
        """Send the messages that ``next_frame`` of the side returns."""
        self._wake.set()

    async def run(self) -> None:
        """Stay connected until the room ends; raises ``RoomEnded``."""
        attempt, lost_at = 0, self._clock.monotonic()
        while True:
            began = self._clock.monotonic()
            code, reason = await self._connect_once()
            now = self._clock.monotonic()
            was_open, self._socket = self._socket is not None, None
            if was_open:
                lost_at = now
                self._side.on_lost()
                if now - began >= STEADY_SECONDS:
                    attempt = 0
            searching = code == NO_ROOM and self.ever_open and now - lost_at < LOST_ROOM_SECONDS
            if code in ENDINGS and not searching:
                raise RoomEnded(code, reason or ENDINGS[code])
            if not self.ever_open and attempt >= 2:
                raise RoomEnded(
                    code,
                    f"the relay cannot be reached ({reason})",
                    "Check the address, and that the relay runs: GET /healthz.",
                )
            if attempt or not was_open:
                await self._clock.sleep(back_off(max(0, attempt - 1)))
            else:
                await self._clock.sleep(back_off(0) / 4)  # first retry soon: relays restart quickly
            attempt += 1

    async def _connect_once(self) -> tuple[int, str]:
        """Connect once, until the end of the connection; returns close code (or 0) and reason."""
        from websockets.asyncio.client import connect  # deferred: needs the extra ``share``
        from websockets.exceptions import ConnectionClosed, WebSocketException

        try:
            async with connect(
                self._url,
                additional_headers=dict(self._headers()),
                compression=None,
                max_size=MAX_FRAME,
                max_queue=(64, 16),
                ping_interval=PING_SECONDS,
                ping_timeout=PING_SECONDS,
                open_timeout=OPEN_SECONDS,
                close_timeout=2,
            ) as socket:
                # A refusal is a close code as well: only the first message confirms the connection.
                first = await socket.recv()
                self._socket, self.ever_open = socket, True
                self._side.on_open()
                self._receive(first)
                sender = asyncio.ensure_future(self._send_all(socket))
                try:
                    async for message in socket:
                        self._receive(message)
                finally:
                    sender.cancel()
                    with suppress(asyncio.CancelledError, ConnectionClosed):
                        await sender
                return socket.close_code or 0, socket.close_reason or ""
        except ConnectionClosed as error:
            close = error.rcvd
            return (0, str(error)) if close is None else (close.code, close.reason)
        except (OSError, TimeoutError, WebSocketException) as error:
            return 0, str(error) or type(error).__name__

    def _receive(self, message: str | bytes) -> None:
        if isinstance(message, str):
            self._side.on_text(message)
        else:
            self._side.on_frame(message)
        self._wake.set()

    async def _send_all(self, socket: Any) -> None:
        while True:
            while (message := self._side.next_frame()) is not None:
                await socket.send(message)
            await self._wake.wait()
            self._wake.clear()

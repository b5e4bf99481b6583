"""A WebSocket of aiohttp as a ``Connection`` of a room."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from struct import Struct
from typing import Any, Final

from aiohttp import web

from pi.base.tasks import TaskScope

HIGH_WATER: Final = 64 * 1024 * 1024
"""Never reached: rooms disconnect a receiver long before."""
CLOSE_SECONDS: Final = 5.0
HELD_SECONDS: Final = 0.02
"""How often a receiver that is behind is looked at."""
_CHUNK: Final = 64 * 1024
_ABORT_ABOVE: Final = 256 * 1024
_BINARY: Final = 0x82
"""The first byte of a WebSocket frame: the only one of a binary message."""
_SHORT, _MEDIUM, _LONG = Struct(">BB"), Struct(">BBH"), Struct(">BBQ")


class SocketConnection:
    """Sends without waiting, so that no receiver delays another one."""

    def __init__(
        self, socket: web.WebSocketResponse, transport: asyncio.Transport, tasks: TaskScope
    ) -> None:
        self._socket = socket
        self._transport = transport
        self._tasks = tasks
        self._closing = False
        # From Python 3.12 on, a transport keeps a list of what was written and adds up its lengths
        # with every write: with small frames for a receiver that does not read, each one took
        # 0.1 ms and more. They are collected here, so that the list stays short.
        self._held = bytearray()
        self._timer: asyncio.TimerHandle | None = None
        # aiohttp waits in ``send_str`` above this mark, and only there. With a mark that is never
        # reached it writes at once; how much is unsent is what ``unsent`` is for.
        transport.set_write_buffer_limits(high=HIGH_WATER)

    @property
    def unsent(self) -> int:
        """Bytes here and in the buffer of the transport."""
        return len(self._held) + self._transport.get_write_buffer_size()

    def send(self, data: bytes) -> None:
        """Send a binary message, if the socket is open.

        Written here without ``send_bytes`` of aiohttp: a frame below 64 KiB is one write to the
        transport. A server does not mask and this one does not compress, so a frame is a head and
        the data.
        """
        transport = self._transport
        if self._closing or transport.is_closing():
            return
        size = len(data)
        if size < 126:
            self._write(_SHORT.pack(_BINARY, size) + data)
        elif size < 65536:
            self._write(_MEDIUM.pack(_BINARY, 126, size) + data)
        else:  # not joined: that would copy it for each receiver
            self._flush()
            transport.write(_LONG.pack(_BINARY, 127, size))
            transport.write(data)

    def _write(self, frame: bytes) -> None:
        if not self.unsent:
            self._transport.write(frame)
            return
        self._held += frame
        if len(self._held) >= _CHUNK:
            self._flush()
        elif self._timer is None:
            self._look_later()

    def _look_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(HELD_SECONDS, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._transport.is_closing():
            self._held.clear()
        elif not self._transport.get_write_buffer_size():
            self._flush()
        elif self._held:
            self._look_later()

    def _flush(self) -> None:
        if self._held:
            held, self._held = self._held, bytearray()
            self._transport.write(held)

    def send_text(self, text: str) -> None:
        """Send a text message, if the socket is open."""
        if not self._closing:
            self._flush()
            self._now(self._socket.send_str(text))

    def close(self, code: int, reason: str) -> None:
        """Close the socket; at once if its other side does not read."""
        if self._closing:
            return
        self._closing = True
        if self.unsent > _ABORT_ABOVE:
            self._transport.abort()
            return
        self._flush()
        self._tasks.start(self._close(code, reason), name="close a socket")

    async def _close(self, code: int, reason: str) -> None:
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._socket.close(code=code, message=reason.encode())
        except (TimeoutError, ConnectionError):
            # Only then: a reset would take the close code from a client that has not read it yet.
            self._transport.abort()

    def _now(self, sending: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine that does not wait: a task for each message costs more than the send."""
        try:
            sending.send(None)
        except StopIteration:
            return
        except (ConnectionError, RuntimeError):  # it was closed by the other side
            self._closing = True
            return
        sending.close()
        self._closing = True
        self._transport.abort()

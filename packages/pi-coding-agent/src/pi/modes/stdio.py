"""Standard input and output for protocols."""

from __future__ import annotations

import asyncio
import errno
import os
import select
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import TypeVar, cast

from pi.base.json_lines import escape_line_ends
from pi.base.terminal_text import escape_controls

T = TypeVar("T")

AHEAD = 16
"""Chunks that are read ahead."""
_SIZE = 1 << 16


async def read_chunks(fd: int) -> AsyncIterator[bytes]:
    """Yield the data of a file descriptor, pipe or file, until it ends; read by a thread."""
    # Not connect_read_pipe: it rejects regular files and /dev/null.
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[bytes] = asyncio.Queue()
    slots = threading.Semaphore(AHEAD)

    def work() -> None:
        data = b"-"
        while data:
            slots.acquire()
            data = _read(fd)
            try:
                loop.call_soon_threadsafe(arrived.put_nowait, data)
            except RuntimeError:
                return  # the loop has ended

    threading.Thread(target=work, name="input", daemon=True).start()
    while chunk := await arrived.get():
        slots.release()
        yield chunk


async def in_daemon_thread(function: Callable[[], T]) -> T:
    """Return the result of ``function``, which may wait for ever: pi can end without it.

    Not ``asyncio.to_thread``: threads of the event loop are waited for at the end.
    """
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if result.done():
            return  # cancelled
        if error is not None:
            result.set_exception(error)
        else:
            result.set_result(cast("T", value))

    def work() -> None:
        value, failure = None, None
        try:
            value = function()
        except BaseException as error:
            failure = error
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, value, failure)

    threading.Thread(target=work, name="reading", daemon=True).start()
    return await result


def _read(fd: int) -> bytes:
    """Return the next chunk; empty at the end or after an error."""
    while True:
        try:
            return os.read(fd, _SIZE)
        except BlockingIOError:  # another process made the shared pipe non-blocking
            _wait_for(fd, select.POLLIN)
        except OSError:
            return b""


def _wait_for(fd: int, event: int) -> None:
    """Wait until a file descriptor can be read or written, with ``select.POLLIN`` or ``POLLOUT``.

    Not ``select.select``: it refuses numbers above 1,023.
    """
    poll = select.poll()
    poll.register(fd, event)
    poll.poll()


# Output -------------------------------------------------------------------------------------------
#
# Data is sent in order, without loss, and without blocking the agent: a thread sends the data of
# one turn of the event loop in one piece. With too much unsent data, writers wait, so that memory
# is bounded.


MAX_WAITING = 4_000_000
"""Unsent bytes above which writers have to wait."""
GRACE_SECONDS = 3.0
"""Seconds without progress after which a reader is not waited for at the end."""
_PIECE = 1 << 16
CLOSED_PIPE_ERRORS = {errno.EPIPE, errno.ECONNRESET, errno.EINVAL}
"""Errors of a write to a closed pipe; the last one on Windows."""


class Output:
    """Writes to a file descriptor. ``broken`` is set when nothing can be written any more."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self.is_terminal = os.isatty(fd)
        """Whether the output is a terminal."""
        self._turn: list[bytes] = []
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        self._room = asyncio.Event()
        self._room.set()
        self._waits = True
        self._moved = 0
        """Bytes that were sent; counted by the thread."""
        self.waiting = 0
        """Bytes that were not sent yet."""
        self.broken = asyncio.Event()
        self.failure: OSError | None = None
        """The error that stopped the output, unless the reader closed the pipe."""
        self._ended = asyncio.Event()
        """Set when the thread has sent everything."""
        threading.Thread(target=self._work, name="output", daemon=True).start()

    def write(self, data: bytes) -> None:
        """Queue ``data``."""
        if not self._turn:
            self._loop.call_soon(self._hand_over)
        self._turn.append(data)

    def write_json(self, line: bytes) -> None:
        """Write a line of JSON with all control characters and line ends escaped.

        JSON escapes only C0. The line may be shown on a terminal, here or behind a pipe, where C1
        are control characters. Nearly all lines are ASCII and need only two checks.
        """
        if not line.isascii() or b"\x7f" in line:
            escaped = escape_line_ends(line)
            line = escape_controls(escaped.decode("utf-8", "replace")).encode()
        self.write(line)

    @property
    def is_behind(self) -> bool:
        """Whether there is so much unsent data that writers should wait."""
        return not self._room.is_set()

    async def drained(self) -> None:
        """Wait until the reader has caught up."""
        await self._room.wait()

    def stop_waiting(self) -> None:
        """Stop applying back-pressure, so that shutdown can finish."""
        self._waits = False
        self._room.set()

    async def close(self, *, patience: float = GRACE_SECONDS) -> None:
        """Wait until everything is written, or the pipe is closed."""
        self._hand_over()
        self._queue.put(None)
        before = -1
        while not self._ended.is_set() and before != self._moved:
            before = self._moved
            with suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await self._ended.wait()

    def _hand_over(self) -> None:
        if self._turn:
            data = b"".join(self._turn)
            self._turn.clear()
            self.waiting += len(data)
            if self._waits and self.waiting > MAX_WAITING:
                self._room.clear()
            self._queue.put(data)

    def _work(self) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._send_all()
            self._loop.call_soon_threadsafe(self._ended.set)

    def _send_all(self) -> None:
        broken = False
        while (data := self._queue.get()) is not None:
            size, remaining = len(data), memoryview(data)
            while remaining and not broken:
                try:
                    # In pieces: a blocking write reports no progress.
                    written = os.write(self._fd, remaining[:_PIECE])
                except BlockingIOError:  # another process made the shared pipe non-blocking
                    _wait_for(self._fd, select.POLLOUT)
                except OSError as error:
                    broken = True
                    self.failure = None if error.errno in CLOSED_PIPE_ERRORS else error
                else:
                    remaining = remaining[written:]
                    self._moved += written
            self._loop.call_soon_threadsafe(self._written, size, broken)

    def _written(self, size: int, broken: bool) -> None:  # noqa: FBT001 - called by the loop
        self.waiting -= size
        if self.waiting <= MAX_WAITING:
            self._room.set()
        if broken:
            self.broken.set()

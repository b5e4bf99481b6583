"""Standard input as protocols need it."""

from __future__ import annotations

import asyncio
import errno
import os
import select
import threading
from collections.abc import AsyncIterator
from queue import SimpleQueue

from pi.base.terminal_text import escape_controls

AHEAD = 16
"""Chunks that are read before somebody wants them."""
_SIZE = 1 << 16


async def read_chunks(fd: int) -> AsyncIterator[bytes]:
    """What a file descriptor gives, pipe or file, until it ends; read by a thread of its own."""
    # Not connect_read_pipe: that refuses regular files and /dev/null.
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[bytes] = asyncio.Queue()
    room = threading.Semaphore(AHEAD)

    def work() -> None:
        data = b"-"
        while data:
            room.acquire()
            data = _read(fd)
            try:
                loop.call_soon_threadsafe(arrived.put_nowait, data)
            except RuntimeError:
                return  # the loop has ended

    threading.Thread(target=work, name="input", daemon=True).start()
    while chunk := await arrived.get():
        room.release()
        yield chunk


def _read(fd: int) -> bytes:
    """The next piece; nothing when there is none, or it cannot be read."""
    while True:
        try:
            return os.read(fd, _SIZE)
        except BlockingIOError:  # whoever shares the pipe with us made it so
            select.select([fd], [], [])
        except OSError:
            return b""


# Standard output as protocols need it: in order, without loss, and never in the agent's way.
#
# What is written in one turn of the event loop leaves in one piece, by a thread of its own, so
# that a slow reader holds up nobody; one that is far behind is waited for, so that memory is
# bounded.


MOST_WAITING = 4_000_000
"""Bytes that may wait for a slow reader before whoever writes has to wait too."""
PATIENCE = 3.0
"""Seconds without a single byte being read after which a reader is not waited for at the end."""
_PIECE = 1 << 16
NOBODY_READS = {errno.EPIPE, errno.ECONNRESET, errno.EINVAL}
"""What a write says then; the last one on Windows."""


class Output:
    """Writes to a file descriptor. ``broken`` is set when nothing can be written any more."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self.is_terminal = os.isatty(fd)
        """Whether what is written is shown to a person, who did not write it."""
        self._turn: list[bytes] = []
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        self._room = asyncio.Event()
        self._room.set()
        self._waits = True
        self._moved = 0
        """Bytes that the reader has taken; counted by the thread."""
        self.waiting = 0
        """Bytes that the reader has not taken yet."""
        self.broken = asyncio.Event()
        self.failure: OSError | None = None
        """Why nothing can be written, unless it is that nobody reads any more."""
        self._thread = threading.Thread(target=self._work, name="output", daemon=True)
        self._thread.start()

    def write(self, data: bytes) -> None:
        """Have ``data`` written after everything before it."""
        if not self._turn:
            self._loop.call_soon(self._hand_over)
        self._turn.append(data)

    def write_json(self, line: bytes) -> None:
        """Write a line of JSON with all controls as escapes.

        JSON escapes only C0. The line may be shown on a terminal, here or behind a pipe, and C1
        are orders there. Nearly all lines are ASCII and need no more than two looks.
        """
        if not line.isascii() or b"\x7f" in line:
            line = escape_controls(line.decode("utf-8", "replace")).encode()
        self.write(line)

    @property
    def is_behind(self) -> bool:
        """Whether the reader is so far behind that whoever writes should wait."""
        return not self._room.is_set()

    async def drained(self) -> None:
        """Until the reader has caught up."""
        await self._room.wait()

    def stop_waiting(self) -> None:
        """From now on let nobody wait for the reader: what is under way has to come to its end."""
        self._waits = False
        self._room.set()

    async def close(self, *, patience: float = PATIENCE) -> None:
        """Until everything is written, or nobody reads it."""
        self._hand_over()
        self._queue.put(None)
        before = -1
        while self._thread.is_alive() and before != self._moved:
            before = self._moved
            await asyncio.to_thread(self._thread.join, patience)

    def _hand_over(self) -> None:
        if self._turn:
            data = b"".join(self._turn)
            self._turn.clear()
            self.waiting += len(data)
            if self._waits and self.waiting > MOST_WAITING:
                self._room.clear()
            self._queue.put(data)

    def _work(self) -> None:
        broken = False
        while (data := self._queue.get()) is not None:
            size, left = len(data), memoryview(data)
            while left and not broken:
                try:
                    # In pieces: a blocking write says nothing until it is through.
                    written = os.write(self._fd, left[:_PIECE])
                except BlockingIOError:  # whoever shares the pipe with us made it so
                    select.select([], [self._fd], [])
                except OSError as problem:
                    broken = True
                    self.failure = None if problem.errno in NOBODY_READS else problem
                else:
                    left = left[written:]
                    self._moved += written
            try:
                self._loop.call_soon_threadsafe(self._written, size, broken)
            except RuntimeError:
                return  # the loop has ended; nobody waits for us

    def _written(self, size: int, broken: bool) -> None:  # noqa: FBT001 - called by the loop
        self.waiting -= size
        if self.waiting <= MOST_WAITING:
            self._room.set()
        if broken:
            self.broken.set()

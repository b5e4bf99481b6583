"""Standard input as protocols need it."""

from __future__ import annotations

import asyncio
import os
import select
import threading
from collections.abc import AsyncIterator

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

"""Standard input as protocols need it."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator


async def read_chunks(fd: int) -> AsyncIterator[bytes]:
    """What a file descriptor gives, pipe or file, until it ends; read by a thread of its own."""
    # Not connect_read_pipe: that refuses regular files and /dev/null.
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes] = asyncio.Queue(maxsize=16)

    def work() -> None:
        data = b"-"
        while data:
            try:
                data = os.read(fd, 1 << 16)
            except OSError:
                data = b""
            try:
                asyncio.run_coroutine_threadsafe(queue.put(data), loop).result()
            except (RuntimeError, asyncio.CancelledError):
                return  # the loop has ended

    threading.Thread(target=work, name="input", daemon=True).start()
    while chunk := await queue.get():
        yield chunk

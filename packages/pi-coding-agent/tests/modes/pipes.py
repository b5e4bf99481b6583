"""An output that a test reads."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from io import FileIO

from pi.modes.stdio import Output
from tests.modes.golden.recording import Json


class Reader:
    """The reader of an ``Output``; it reads only on request of the test."""

    def __init__(self, output: Output, write_end: FileIO, read_end: FileIO) -> None:
        self.output = output
        self._write_end = write_end
        self._read_end = read_end

    async def everything(self) -> bytes:
        """Close the output; returns everything that was not read yet."""
        reading = asyncio.create_task(asyncio.to_thread(self._read_end.readall))
        await self.output.close()
        self._write_end.close()
        return await reading

    async def records(self) -> list[Json]:
        """The same as records."""
        return [json.loads(line) for line in (await self.everything()).splitlines()]

    async def take(self) -> bytes:
        """Some of what is there."""
        return await asyncio.to_thread(self._read_end.read, 1 << 20)

    def go_away(self) -> None:
        """Read nothing more, for ever."""
        self._read_end.close()


@asynccontextmanager
async def piped(*, blocking: bool = True, lowest: int = 0) -> AsyncIterator[Reader]:
    """An output, whose file descriptor is ``lowest`` or above, and its reader."""
    read_fd, write_fd = os.pipe()
    if lowest:
        original_fd, write_fd = write_fd, fcntl.fcntl(write_fd, fcntl.F_DUPFD_CLOEXEC, lowest)
        os.close(original_fd)
    os.set_blocking(write_fd, blocking)
    with FileIO(read_fd, "r") as read_end, FileIO(write_fd, "w") as write_end:
        output = Output(write_fd)
        yield Reader(output, write_end, read_end)
        read_end.close()
        await output.close()


async def until(condition: Callable[[], bool]) -> None:
    """Wait until the condition is true; fails after a while."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - what is waited for is not of one kind
            await asyncio.sleep(0.001)

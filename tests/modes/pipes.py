"""An output that a test reads."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from pi.modes.output import Output


class Reader:
    """The other end of an ``Output``, read only when the test says so."""

    def __init__(self, output: Output, read_end: int) -> None:
        self.output = output
        self._read_end = read_end

    async def take(self, size: int) -> bytes:
        """Exactly so many bytes."""
        taken = b""
        while len(taken) < size:
            taken += await asyncio.to_thread(os.read, self._read_end, size - len(taken))
        return taken

    async def everything(self) -> bytes:
        """What was written, once nothing more is; closes the output."""

        async def read() -> bytes:
            pieces = []
            while piece := await asyncio.to_thread(os.read, self._read_end, 1 << 20):
                pieces.append(piece)
            return b"".join(pieces)

        reading = asyncio.create_task(read())
        await self.output.close()
        os.close(self.output.fd)
        return await reading

    def go_away(self) -> None:
        """Read nothing more, for ever."""
        os.close(self._read_end)


@asynccontextmanager
async def piped() -> AsyncIterator[Reader]:
    """An output and its reader."""
    read_end, write_end = os.pipe()
    output = Output(write_end)
    try:
        yield Reader(output, read_end)
    finally:
        await output.close(patience=0.1)
        for fd in (read_end, write_end):
            with suppress(OSError):
                os.close(fd)

"""A terminal for a program that wants one: what a person types reaches it, what it draws us."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pi.base.processes import pty_relay
from pi.base.processes.child import Child, spawn
from pi.base.processes.pty_relay import FRAME, SIZE

KIND = "xterm-256color"
"""What programs take it for (``TERM``); everything can show at least that."""


def has_terminals() -> bool:
    """Whether this system can make one; Windows cannot."""
    return hasattr(os, "openpty")


class Terminal:
    """Runs one program; keys sent before it has started wait for it."""

    def __init__(self, *, columns: int = 80, rows: int = 24) -> None:
        self._size = columns, rows
        self._child: Child | None = None
        self._waiting = b""

    async def spawn(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Child:
        """Start a program as ``pi.base.processes.spawn`` does, but in this terminal.

        It leads a session of its own, and all that it writes comes as ``output``, with the
        sequences that move a cursor. It ends with 128 + n when signal n has ended it.
        """
        # Isolated and without site: it needs only the standard library, and starts in 15 ms.
        script = [sys.executable, "-I", "-S", str(pty_relay.__file__)]
        size = [str(number) for number in self._size]
        child = await spawn(
            [*script, *size, *command], cwd=cwd, env={**env, "TERM": KIND}, stdin="pipe"
        )
        try:
            self._child = child
            await self._tell(self._waiting)
        except BaseException as error:
            await child.__aexit__(type(error))
            raise
        return child

    async def send(self, keys: bytes) -> None:
        """Type something."""
        await self._tell(FRAME.pack(b"i", len(keys)) + keys)

    async def resize(self, columns: int, rows: int) -> None:
        """The window has another size now."""
        self._size = columns, rows
        await self._tell(FRAME.pack(b"r", SIZE.size) + SIZE.pack(columns, rows))

    async def _tell(self, frames: bytes) -> None:
        if self._child is None:
            self._waiting += frames
            return
        try:
            if frames:
                await self._child.write(frames)
        except ConnectionError:
            return  # the program has just ended: nobody reads this any more

"""A terminal for a command that wants one: what a person types reaches it, what it draws us."""

from __future__ import annotations

import sys

from pi.base.processes import Child
from pi.coding.shell import pty_relay
from pi.coding.shell.pty_relay import FRAME, SIZE


class Terminal:
    """Given to ``LocalShell.run``; keys sent before the command has started wait for it."""

    def __init__(self, *, columns: int = 80, rows: int = 24) -> None:
        self._size = columns, rows
        self._child: Child | None = None
        self._waiting = b""

    @property
    def relay(self) -> list[str]:
        """The words that run a command in a terminal of this size."""
        # Isolated and without site: it needs only the standard library, and starts in 15 ms.
        script = str(pty_relay.__file__)
        return [sys.executable, "-I", "-S", script, *(str(number) for number in self._size)]

    async def attach(self, child: Child) -> None:
        """The command runs now."""
        self._child = child
        waiting, self._waiting = self._waiting, b""
        await self._tell(waiting)

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
            return  # the command has just ended: nobody reads this any more

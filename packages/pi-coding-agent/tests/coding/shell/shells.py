"""Helpers of the tests of commands."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from pi.base.processes import MARKER
from pi.base.processes.tree import processes
from pi.coding.shell.local import Ended, LocalShell
from tests.coding.tools.places import make_shell


class Room:
    """A shell whose descendants can be distinguished from all other processes."""

    def __init__(self, folder: Path) -> None:
        self.name = os.urandom(8).hex()
        environ = {**os.environ, MARKER: self.name}
        self.folder = folder
        self.shell: LocalShell = make_shell(folder, environ=environ)

    def left(self) -> list[int]:
        """Processes that commands have started and that still run."""
        return [each.pid for each in processes(self.name).values() if each.marked]

    async def run(
        self,
        command: str,
        *,
        timeout: float | None = 20,
        on_text: Callable[[str], None] = lambda text: None,
    ) -> tuple[Ended, str]:
        """How a command ended, and the end of its output."""
        output = self.shell.new_output()
        end = await self.shell.run(command, output=output, timeout=timeout, on_text=on_text)
        return end, output.written().tail.content


@asynccontextmanager
async def empty_room(folder: Path) -> AsyncIterator[Room]:
    """A room in which no process may be left at the end."""
    room = Room(folder)
    yield room
    await room.shell.close()
    assert room.left() == []

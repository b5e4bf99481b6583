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


class ShellHarness:
    """A shell whose descendants can be distinguished from all other processes."""

    def __init__(self, folder: Path) -> None:
        self.name = os.urandom(8).hex()
        environ = {**os.environ, MARKER: self.name}
        self.folder = folder
        self.shell: LocalShell = make_shell(folder, environ=environ)

    def remaining(self) -> list[int]:
        """Processes that commands have started and that still run."""
        return [process.pid for process in processes(self.name).values() if process.marked]

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
async def shell_harness(folder: Path) -> AsyncIterator[ShellHarness]:
    """A harness whose processes must all have ended when it closes."""
    harness = ShellHarness(folder)
    yield harness
    await harness.shell.close()
    assert harness.remaining() == []

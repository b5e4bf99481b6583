"""Commands that the person runs beside the conversation, with ``!`` and ``!!`` or over RPC."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi.base.records import UNSET, Record, UnsetType
from pi.coding.shell.local import Ended, LocalShell
from pi.coding.shell.spill import beyond

if TYPE_CHECKING:
    from pi.agent.env import OnOutput


class BashResult(Record):
    """What such a command came to; its text is harmless to a terminal."""

    output: str
    """The end of it, cut like that of the bash tool."""
    exit_code: int | UnsetType = UNSET
    """Absent when the command was stopped."""
    cancelled: bool = False
    truncated: bool = False
    full_output_path: str | UnsetType = UNSET


class UserCommands:
    """Runs any number of them at the same time; ``stop`` ends all that run."""

    def __init__(self, shell: LocalShell) -> None:
        self._shell = shell
        self._running: set[asyncio.Task[Ended]] = set()

    @property
    def running(self) -> int:
        """How many run now."""
        return len(self._running)

    async def run(
        self, command: str, *, cwd: Path | None = None, on_text: OnOutput = lambda text: None
    ) -> BashResult:
        """Run a command to its end, or until ``stop``; ``on_text`` is told what is new.

        ``NoShell`` or ``SpawnFailed`` if it cannot be started.
        """
        output = self._shell.new_output(harmless=True)
        work = asyncio.ensure_future(
            self._shell.run(command, output=output, cwd=cwd, on_text=on_text)
        )
        self._running.add(work)
        try:
            await asyncio.wait({work})
        finally:
            self._running.discard(work)
            work.cancel()  # if we are cancelled ourselves, the command is ended too
            with suppress(asyncio.CancelledError):
                await asyncio.wait({work})
        written = output.written()
        text = written.tail.content
        if written.full_output_path and written.kept_bytes:
            text += f"\n\n{beyond(written.kept_bytes)}"
        return BashResult(
            output=text,
            exit_code=UNSET if work.cancelled() else work.result().exit_code,
            cancelled=work.cancelled(),
            truncated=written.tail.truncated,
            full_output_path=written.full_output_path or UNSET,
        )

    def stop(self) -> None:
        """End every command that runs; each gives back what it had written."""
        for work in self._running:
            work.cancel()

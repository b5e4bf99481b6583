"""A terminal for a program that wants one: what a person types reaches it, what it draws us."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pi.base.processes import pty_relay
from pi.base.processes.child import Child, SpawnFailed, spawn
from pi.base.processes.environment import find_program
from pi.base.processes.pty_relay import FRAME, SIZE

KIND = "xterm-256color"
"""What programs take it for (``TERM``); everything can show at least that."""


def has_terminals() -> bool:
    """Whether this system can make one; Windows cannot."""
    return hasattr(os, "openpty")


class ChildTerminal:
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


# A program that gets the terminal: an editor, a pager.


async def run_attached(command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> int:
    """Run a program in the foreground, with our own three streams, to its end; its exit code.

    It stays in our process group: only that one may read from the terminal. The caller has given
    the terminal back before. Ctrl+C and Ctrl+\\ then concern the program alone; whoever stops
    waiting ends it.
    """
    with _keys_are_for_the_program():
        try:
            process = subprocess.Popen(  # noqa: ASYNC220 - asyncio would take the terminal from it
                [find_program(command[0], env) or command[0], *command[1:]], cwd=cwd, env=dict(env)
            )
        except (OSError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or str(problem)
            raise SpawnFailed(
                f"Cannot run {command[0]}: {reason}.",
                hint="Check that it is installed and on PATH.",
            ) from problem
        try:
            return await asyncio.to_thread(process.wait)
        finally:
            if process.poll() is None:
                process.terminate()


@contextmanager
def _keys_are_for_the_program() -> Iterator[None]:
    """Survive the signals that keys send to everyone in the process group.

    Not by ignoring them: the program would inherit that.
    """
    numbers = [signal.SIGINT]
    if hasattr(signal, "SIGQUIT"):  # not on Windows
        numbers.append(signal.SIGQUIT)
    before = {number: signal.signal(number, lambda *_: None) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

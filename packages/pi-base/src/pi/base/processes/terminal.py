"""Runs programs on a terminal: a child on a pty, or an attached program on the user's terminal."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pi.base.processes import pty_relay
from pi.base.processes.child import Child, spawn
from pi.base.processes.direct import SpawnFailed
from pi.base.processes.environment import find_program
from pi.base.processes.pty_relay import FRAME, SIZE

KIND = "xterm-256color"
"""The value of ``TERM``, which every terminal can display."""


def has_terminals() -> bool:
    """Whether this system supports pseudo-terminals; Windows does not."""
    return hasattr(os, "openpty")


class ChildTerminal:
    """A pseudo-terminal for one program; keys sent before it has started are queued."""

    def __init__(self, *, columns: int = 80, rows: int = 24) -> None:
        self._size = columns, rows
        self._child: Child | None = None
        self._waiting = b""
        self._listeners: list[Callable[[bytes], None]] = []

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        return self._size

    def on_output(self, listener: Callable[[bytes], None]) -> Callable[[], None]:
        """Subscribe to the output of the program. Returns an unsubscribe function."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def received(self, data: bytes) -> None:
        """Pass output of the program to the listeners."""
        for listener in list(self._listeners):
            listener(data)

    async def spawn(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Child:
        """Start a program as ``pi.base.processes.spawn`` does, but in this terminal.

        It leads a session of its own. Everything it writes is in ``output``, including the
        sequences that move the cursor. Its exit code is 128 + n if signal n ended it.
        """
        # Isolated and without site: it needs only the standard library, and starts in 15 ms.
        script = [sys.executable, "-I", "-S", str(pty_relay.__file__)]
        size = [str(number) for number in self._size]
        child = await spawn(
            [*script, *size, *command], cwd=cwd, env={**env, "TERM": KIND}, stdin="pipe"
        )
        try:
            self._child = child
            await self._send_frames(self._waiting)
        except BaseException as error:
            await child.__aexit__(type(error))
            raise
        return child

    async def send(self, keys: bytes) -> None:
        """Send typed keys."""
        await self._send_frames(FRAME.pack(b"i", len(keys)) + keys)

    async def resize(self, columns: int, rows: int) -> None:
        """Set the size of the window."""
        self._size = columns, rows
        await self._send_frames(FRAME.pack(b"r", SIZE.size) + SIZE.pack(columns, rows))

    async def _send_frames(self, frames: bytes) -> None:
        if self._child is None:
            self._waiting += frames
            return
        try:
            if frames:
                await self._child.write(frames)
        except ConnectionError:
            return  # the program has just ended


async def run_attached(command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> int:
    """Run a program, such as an editor, on our terminal until it ends; returns its exit code.

    It stays in our process group, because only that one may read from the terminal. The caller has
    released the terminal before. Ctrl+C and Ctrl+\\ then reach the program alone; cancelling the
    wait ends the program.
    """
    with _survive_terminal_signals():
        try:
            process = subprocess.Popen(  # noqa: ASYNC220 - asyncio would take the terminal from it
                [find_program(command[0], env) or command[0], *command[1:]], cwd=cwd, env=dict(env)
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise SpawnFailed(
                f"Cannot run {command[0]}: {reason}.",
                hint="Check that it is installed and on PATH.",
            ) from error
        try:
            return await asyncio.to_thread(process.wait)
        finally:
            if process.poll() is None:
                process.terminate()


@contextmanager
def _survive_terminal_signals() -> Iterator[None]:
    """Survive the signals that keys send to the whole process group.

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

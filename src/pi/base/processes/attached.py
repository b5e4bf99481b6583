"""A program that gets the terminal: an editor, a pager."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pi.base.processes.child import SpawnFailed
from pi.base.processes.environment import find_program


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

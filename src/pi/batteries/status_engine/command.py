"""Line 3 from a command: told JSON on its standard input, its first line is shown."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Protocol

from pi.batteries.status_engine.line_source import Ask, NoAnswer
from pi.extension import ExecResult, PiError


class Run(Protocol):
    """Runs a program to its end, as ``pi.exec`` does: with a minimal environment."""

    def __call__(
        self, argv: Sequence[str], *, stdin: bytes, timeout: float
    ) -> Awaitable[ExecResult]:
        """What it came to; killed after ``timeout`` seconds."""
        ...


def asking_command(command: str, run: Run, *, timeout_ms: int) -> Ask:
    """Asks ``command``; whatever goes wrong, the last good line stays."""

    async def ask(payload: bytes) -> str:
        try:
            ended = await run(arguments(command), stdin=payload, timeout=timeout_ms / 1000)
        except PiError as problem:
            raise NoAnswer(f"The status command was not run. {problem}") from problem
        if ended.killed:
            raise NoAnswer(
                f"The status command {command!r} took longer than {timeout_ms} ms."
                " Make it faster, or raise tui.statusEngine.commandTimeoutMs."
            )
        if ended.code != 0:
            said = ended.stderr.strip().splitlines()
            raise NoAnswer(
                f"The status command {command!r} failed with exit code {ended.code}"
                + (f": {said[-1]}" if said else ".")
            )
        return first_line(ended.stdout)

    return ask


def arguments(command: str, system: str = os.name) -> tuple[str, ...]:
    """What to start: a program by its full path, which may hold spaces, or else the shell."""
    if _is_program(Path(command)):
        return (command,)
    return ("cmd", "/d", "/c", command) if system == "nt" else ("/bin/sh", "-c", command)


def _is_program(path: Path) -> bool:
    # Only a full path: a project must not be able to slip in a file of the command's name.
    try:
        return path.is_absolute() and path.is_file() and os.access(path, os.X_OK)
    except OSError:  # a line that is too long to be a name
        return False


def first_line(text: str) -> str:
    """The first line, without the spaces at its end."""
    return text.partition("\n")[0].rstrip()

"""Runs ``pi`` many times and starts Python once: ``python -m tests.stories.forked``.

Takes a run as a line of JSON, forks, and returns the program's output as another. The child has
descriptors, environment and folder of its own and runs ``main``, as the program does.
"""

from __future__ import annotations

import errno
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

SECONDS = 50
"""After which a run is ended."""
RAW_MODE = b"\x1b[?2004h"
"""What the screen writes when it takes keys."""


class Forked:
    """The process that forks."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(
        self, words: Sequence[str], cwd: Path, environ: Mapping[str, str], *, terminal: bool
    ) -> str:
        """Everything that ``pi`` writes, to a pipe or to a terminal."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        requested = {
            "words": list(words),
            "cwd": str(cwd),
            "environ": dict(environ),
            "terminal": terminal,
        }
        self._process.stdin.write(f"{json.dumps(requested)}\n")
        self._process.stdin.flush()
        written: str = json.loads(self._process.stdout.readline())
        return written


@contextmanager
def forked() -> Iterator[Forked]:
    """One that ends with the block."""
    with subprocess.Popen(
        [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Forked(process)
        finally:
            process.kill()


def _run(words: list[str], cwd: str, environ: dict[str, str], *, terminal: bool) -> str:
    ours, theirs = pty.openpty() if terminal else os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        _become_pi(words, cwd, environ, theirs, terminal=terminal)
    os.close(theirs)
    if terminal:
        os.write(ours, b"\n\x04")  # whatever is asked
    written = _read(ours, terminal=terminal)
    os.waitpid(child, 0)
    os.close(ours)
    return written.decode("utf-8", "surrogateescape")


def _read(ours: int, *, terminal: bool) -> bytes:
    written = b""
    while True:
        try:
            chunk = os.read(ours, 65_536)
        except OSError as problem:  # Linux raises this if the other side is closed
            if problem.errno != errno.EIO:
                raise
            return written
        if not chunk:
            return written
        written += chunk
        if terminal and RAW_MODE in written:
            with suppress(OSError):
                os.write(ours, b"\x03")


def _become_pi(
    words: list[str], cwd: str, environ: dict[str, str], fd: int, *, terminal: bool
) -> None:
    code = 70
    try:
        os.setsid()
        signal.alarm(SECONDS)
        os.dup2(fd if terminal else os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(fd, 1)
        os.dup2(fd, 2)
        for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(environ)
        sys.argv = ["pi", *words]
        from pi.cli.main import main

        code = main()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _preload() -> None:
    """What every run would import again."""
    from importlib import import_module

    from pi.cli.options import COMMANDS

    for command in COMMANDS:
        import_module(f"pi.cli.subcommands.{command.module or command.name}")
    for module in (
        "pi.cli.main",
        "pi.cli.dispatch",
        "pi.cli.headless",
        "pi.cli.subcommands.sessions",
    ):
        import_module(module)


def _serve() -> None:
    _preload()
    for line in sys.stdin:
        requested: dict[str, Any] = json.loads(line)
        sys.stdout.write(f"{json.dumps(_run(**requested))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()

"""Line 3 from a command or a file: throttled, one request at a time, never blocking.

A command reads JSON from its standard input; its first output line is shown. A file is read by
polling.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from pi.extension import ExecResult, PiError

THROTTLE = 0.3
"""Minimum seconds between two requests."""
MAX_DOUBLINGS = 6
"""Each consecutive failure doubles the interval, up to about 20 s: starting programs is slow."""


class SourceFailed(Exception):
    """No new line is available; the message says why."""


Ask: TypeAlias = Callable[[bytes], Awaitable[str]]
"""Returns the line for a payload, empty if there is none. Raises ``SourceFailed`` on failure."""
Start: TypeAlias = Callable[[Coroutine[Any, Any, None]], object]
"""Runs a coroutine in the background."""


class ThrottledSource:
    """Caches the last good line of a command or a file.

    ``stir`` marks the line as outdated; ``poll`` requests a new one when it is due. Several
    ``stir`` calls cause one request. ``on_line`` is called when the line has changed,
    ``on_error`` only for the first of several failures, because a failing command usually fails
    again.
    """

    def __init__(
        self,
        ask: Ask,
        *,
        start: Start,
        on_line: Callable[[], None] = lambda: None,
        on_error: Callable[[str], None] = lambda problem: None,
        refresh: float = 0.0,
    ) -> None:
        self.line = ""
        self._ask = ask
        self._start = start
        self._on_line = on_line
        self._on_error = on_error
        self._refresh = refresh
        """Seconds after which the line is requested again without ``stir``; 0 turns it off."""
        self._is_stirred = True
        self._is_asking = False
        self._asked: float | None = None
        self._failures = 0
        """Consecutive failures."""
        self._has_reported = False

    def stir(self) -> None:
        """Mark the line as outdated."""
        self._is_stirred = True

    def poll(self, now: float, payload: Callable[[], bytes]) -> None:
        """Request the line if it is due; ``now`` is in seconds of a monotonic clock.

        Returns at once.
        """
        if self._is_asking or not self._is_due(now):
            return
        self._is_asking, self._is_stirred, self._asked = True, False, now
        self._start(self._answer(payload()))

    def _is_due(self, now: float) -> bool:
        if self._asked is None:
            return True
        passed = now - self._asked
        return passed >= THROTTLE * 2 ** min(self._failures, MAX_DOUBLINGS) and (
            self._is_stirred or (self._refresh > 0 and passed >= self._refresh)
        )

    async def _answer(self, payload: bytes) -> None:
        try:
            line = await self._ask(payload)
        except SourceFailed as error:
            self._fail(str(error))
            return
        finally:
            self._is_asking = False
        self._failures = 0
        if line != self.line:
            self.line = line
            self._on_line()

    def _fail(self, problem: str) -> None:
        self._failures += 1
        if not self._has_reported:
            self._has_reported = True
            self._on_error(problem)


class Run(Protocol):
    """Runs a program to its end, as ``pi.exec`` does: with a minimal environment."""

    def __call__(
        self, argv: Sequence[str], *, stdin: bytes, timeout: float
    ) -> Awaitable[ExecResult]:
        """Return the result; the program is killed after ``timeout`` seconds."""
        ...


def command_source(command: str, run: Run, *, timeout_ms: int) -> Ask:
    """Return a source that runs ``command``. On any failure the last good line stays."""

    async def ask(payload: bytes) -> str:
        try:
            ended = await run(arguments(command), stdin=payload, timeout=timeout_ms / 1000)
        except PiError as error:
            raise SourceFailed(f"The status command was not run. {error}") from error
        if ended.killed:
            raise SourceFailed(
                f"The status command {command!r} took longer than {timeout_ms} ms."
                " Make it faster, or raise tui.statusEngine.commandTimeoutMs."
            )
        if ended.code != 0:
            said = ended.stderr.strip().splitlines()
            raise SourceFailed(
                f"The status command {command!r} failed with exit code {ended.code}"
                + (f": {said[-1]}" if said else ".")
            )
        return first_line(ended.stdout)

    return ask


def arguments(command: str, system: str = os.name) -> tuple[str, ...]:
    """Return the argument list: a program given by its absolute path, or the shell."""
    if _is_program(Path(command)):
        return (command,)
    return ("cmd", "/d", "/c", command) if system == "nt" else ("/bin/sh", "-c", command)


def _is_program(path: Path) -> bool:
    # Absolute paths only: a project must not substitute a file of the command's name.
    try:
        return path.is_absolute() and path.is_file() and os.access(path, os.X_OK)
    except OSError:  # too long for a file name
        return False


def first_line(text: str) -> str:
    """Return the first line without trailing spaces."""
    return text.partition("\n")[0].rstrip()


MAX_FILE_BYTES = 65_536
"""Maximum size of the file in bytes."""


class FileInfo(Protocol):
    """File metadata."""

    @property
    def kind(self) -> str:
        """``file``, ``directory`` or ``other``."""
        ...

    @property
    def size(self) -> int:
        """Size in bytes."""
        ...


class Files(Protocol):
    """The part of ``ctx.files`` that is used here."""

    async def stat(self, path: str) -> FileInfo:
        """Return the metadata of a file."""
        ...

    async def read_file(self, path: str) -> bytes:
        """Return the content of a file."""
        ...


async def read_small(files: Files, path: str) -> str | None:
    """Return the text of a file; ``None`` if it is missing, too large or not a regular file."""
    try:
        info = await files.stat(path)
        if info.kind != "file" or info.size > MAX_FILE_BYTES:
            return None  # reading a pipe would block
        content = await files.read_file(path)
    except PiError:
        return None
    return content.decode("utf-8", "replace")


def file_source(path: str, files: Files) -> Ask:
    """Return a source that reads the first line of a file; no line if the file is missing."""

    async def ask(payload: bytes) -> str:
        return first_line(await read_small(files, path) or "")

    return ask

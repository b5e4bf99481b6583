"""Line 3 from outside: asked for seldom, never twice at once, and never waited for."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from pi.extension import ExecResult, PiError

THROTTLE = 0.3
"""Seconds that pass at least between two questions."""
MOST_DOUBLINGS = 6
"""Every failure in a row doubles that, up to about 20 seconds: starting programs is not free."""


class SourceFailed(Exception):
    """There is no new line; its text says why."""


Ask: TypeAlias = Callable[[bytes], Awaitable[str]]
"""Gives the line for a payload, empty if there is none; ``SourceFailed`` if nobody can tell."""
Start: TypeAlias = Callable[[Coroutine[Any, Any, None]], object]
"""Runs something beside everything else."""


class ThrottledSource:
    """Keeps the last good line of a command or a file.

    ``stir`` says that the answer may be another one by now; ``poll`` asks when it is time. What
    happens in between is asked about once. ``on_line`` is called when the line is another one,
    ``on_problem`` the first time that there is no answer: what fails once fails often.
    """

    def __init__(
        self,
        ask: Ask,
        *,
        start: Start,
        on_line: Callable[[], None] = lambda: None,
        on_problem: Callable[[str], None] = lambda problem: None,
        refresh: float = 0.0,
    ) -> None:
        self.line = ""
        self._ask = ask
        self._start = start
        self._on_line = on_line
        self._on_problem = on_problem
        self._refresh = refresh
        """Seconds after which it asks although nobody has stirred; 0 waits for that."""
        self._is_stirred = True
        self._is_asking = False
        self._asked: float | None = None
        self._failures = 0
        """Since the last good answer."""
        self._has_told = False

    def stir(self) -> None:
        """Ask anew as soon as that is allowed."""
        self._is_stirred = True

    def poll(self, now: float, payload: Callable[[], bytes]) -> None:
        """Ask, if it is time; ``now`` is in seconds of a monotonic clock. Returns at once."""
        if self._is_asking or not self._is_due(now):
            return
        self._is_asking, self._is_stirred, self._asked = True, False, now
        self._start(self._answer(payload()))

    def _is_due(self, now: float) -> bool:
        if self._asked is None:
            return True
        passed = now - self._asked
        return passed >= THROTTLE * 2 ** min(self._failures, MOST_DOUBLINGS) and (
            self._is_stirred or (self._refresh > 0 and passed >= self._refresh)
        )

    async def _answer(self, payload: bytes) -> None:
        try:
            line = await self._ask(payload)
        except SourceFailed as problem:
            self._fail(str(problem))
            return
        finally:
            self._is_asking = False
        self._failures = 0
        if line != self.line:
            self.line = line
            self._on_line()

    def _fail(self, problem: str) -> None:
        self._failures += 1
        if not self._has_told:
            self._has_told = True
            self._on_problem(problem)


# Line 3 from a command: told JSON on its standard input, its first line is shown.


class Run(Protocol):
    """Runs a program to its end, as ``pi.exec`` does: with a minimal environment."""

    def __call__(
        self, argv: Sequence[str], *, stdin: bytes, timeout: float
    ) -> Awaitable[ExecResult]:
        """What it came to; killed after ``timeout`` seconds."""
        ...


def command_source(command: str, run: Run, *, timeout_ms: int) -> Ask:
    """Asks ``command``; whatever goes wrong, the last good line stays."""

    async def ask(payload: bytes) -> str:
        try:
            ended = await run(arguments(command), stdin=payload, timeout=timeout_ms / 1000)
        except PiError as problem:
            raise SourceFailed(f"The status command was not run. {problem}") from problem
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


# Line 3 from a file that something else writes.


LARGEST = 65_536
"""Bytes of a file that is looked into."""


class FileInfo(Protocol):
    """What is known of a file without reading it."""

    @property
    def kind(self) -> str:
        """``file``, ``directory`` or ``other``."""
        ...

    @property
    def size(self) -> int:
        """In bytes."""
        ...


class Files(Protocol):
    """The part of ``ctx.files`` that is needed."""

    async def stat(self, path: str) -> FileInfo:
        """What a file is."""
        ...

    async def read_file(self, path: str) -> bytes:
        """All that it holds."""
        ...


async def read_small(files: Files, path: str) -> str | None:
    """The text of a file; ``None`` if there is none, or nothing that can be read at once."""
    try:
        info = await files.stat(path)
        if info.kind != "file" or info.size > LARGEST:
            return None  # a pipe would never end
        content = await files.read_file(path)
    except PiError:
        return None
    return content.decode("utf-8", "replace")


def file_source(path: str, files: Files) -> Ask:
    """Reads the first line; while there is no such file, there is no line."""

    async def ask(payload: bytes) -> str:
        return first_line(await read_small(files, path) or "")

    return ask

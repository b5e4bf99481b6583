"""What a search program writes, piece by piece; every way in which it can fail is an error."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pi.base.errors import PiError
from pi.base.processes import Child, Exit, SpawnFailed, spawn

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

"""What a search program writes, piece by piece; every way in which it can fail is an error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from pathlib import Path

from pi.base.errors import PiError
from pi.base.processes import Child, Exit, SpawnFailed, spawn

READ_SIZE = 65536
MOST_ERRORS = 20_000
"""Bytes of a program's complaints that are kept; the rest is read and dropped."""

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
    success: Collection[int] = (0,),
    quiet_success: Collection[int] = (),
    silence: float | None = None,
    most: int | None = None,
) -> AsyncGenerator[bytes, None]:
    """Pieces of the output of ``command``, which is ended if the caller stops reading.

    Raises ``ProgramFailed`` after the last piece unless the exit code is one of ``success``, or
    of ``quiet_success`` with nothing on standard error; and earlier if the program writes nothing
    for ``silence`` seconds or more than ``most`` bytes.
    """
    name, size = Path(command[0]).name, 0
    try:
        started = await spawn(command, cwd=cwd, env=env, errors="separate")
    except SpawnFailed as problem:
        raise ProgramFailed(name, "could not be started", errors=problem.message) from problem
    async with started as child:
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
    if end.exit_code not in success and not quiet:
        how = f"exit code {end.exit_code}" if end.signal is None else f"signal {end.signal}"
        raise ProgramFailed(name, f"failed ({how})", end=end, errors=errors)


async def _piece(child: Child, name: str, silence: float | None) -> bytes:
    try:
        async with asyncio.timeout(silence):
            return await child.output.read(READ_SIZE)
    except TimeoutError as problem:
        raise ProgramFailed(name, f"wrote nothing for {silence:g} seconds") from problem


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

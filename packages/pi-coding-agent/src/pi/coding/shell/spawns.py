"""Spawn wraps: functions of extensions that change or refuse the start of a child process."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TypeAlias

from pi.base.processes import SpawnFailed
from pi.base.records import Record, replace
from pi.base.tasks import maybe_await

_LIMIT = """
import os, resource, sys
for name, value in zip(("CPU", "DATA", "FSIZE", "NPROC"), sys.argv[1:5]):
    if value:
        kind = getattr(resource, f"RLIMIT_{name}")
        most = resource.getrlimit(kind)[1]
        value = int(value) if most == resource.RLIM_INFINITY else min(int(value), most)
        resource.setrlimit(kind, (value, value))
os.execvp(sys.argv[5], sys.argv[5:])
"""
"""Sets limits, then executes the program: limits set later would miss its first children."""


class ProcessLimits(Record):
    """Limits of each process, enforced by the kernel; ``None`` means no limit."""

    cpu_seconds: int | None = None
    memory_bytes: int | None = None
    file_bytes: int | None = None
    """Maximum size of a file that the process writes."""
    processes: int | None = None
    """Maximum number of processes of the user."""

    def prefixed(self, arguments: Sequence[str], *, platform: str = sys.platform) -> list[str]:
        """The command line that runs ``arguments`` within the limits; raises ``SpawnFailed``."""
        values = (self.cpu_seconds, self.memory_bytes, self.file_bytes, self.processes)
        if all(value is None for value in values):
            return list(arguments)
        if platform == "win32":
            raise SpawnFailed("Limits of processes are not supported on Windows.")
        limits = ["" if value is None else str(value) for value in values]
        return [sys.executable, "-I", "-S", "-c", _LIMIT, *limits, *arguments]


class SpawnRequest(Record):
    """A program that is about to start."""

    kind: str
    """``bash`` (of the model, also in the background), ``user`` (``!``), ``extension``, or a name
    that the starting extension chooses, such as ``mcp``, ``lsp``, ``kernel`` or ``hook``."""
    arguments: tuple[str, ...]
    """The program and its arguments."""
    command: str = ""
    """The command line of ``bash`` and ``user``, which a shell runs."""
    cwd: Path
    env: Mapping[str, str]
    limits: ProcessLimits = ProcessLimits()
    call_id: str = ""
    """The tool call that starts it; empty outside of a call."""

    @property
    def limited(self) -> list[str]:
        """The program and its arguments, with the limits applied."""
        return self.limits.prefixed(self.arguments)


class SpawnRefused(SpawnFailed):
    """An extension refuses the start of a program; the message states the reason."""


SpawnWrap: TypeAlias = Callable[[SpawnRequest], SpawnRequest | Awaitable[SpawnRequest]]
"""Returns the request, changed or not; raises ``SpawnRefused`` to refuse it."""

_wrapping: ContextVar[bool] = ContextVar("wrapping a spawn", default=False)


async def wrapped_request(request: SpawnRequest, wraps: Sequence[SpawnWrap]) -> SpawnRequest:
    """Pass a request through all wraps, in order.

    A wrap that fails refuses the request: a broken guard must not let programs start. Programs that
    a wrap starts itself are not wrapped. Raises ``SpawnFailed``.
    """
    if _wrapping.get():
        return request
    token = _wrapping.set(True)
    try:
        for wrap in wraps:
            changed = await maybe_await(wrap(request))
            if not isinstance(changed, SpawnRequest):
                raise TypeError(f"it returned {type(changed).__name__}, not a SpawnRequest")
            request = replace(
                changed, kind=request.kind, command=request.command, call_id=request.call_id
            )
    except SpawnFailed:
        raise
    except Exception as error:
        raise SpawnRefused(
            f"Cannot start {request.arguments[0]}: a spawn wrap of an extension failed: {error}"
        ) from error
    finally:
        _wrapping.reset(token)
    return request

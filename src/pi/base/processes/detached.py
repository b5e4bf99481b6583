"""Starts a command that outlives pi: nothing waits for it, reads it or ends it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from pi.base.processes.child import SpawnFailed

_WITHOUT_CONSOLE = getattr(subprocess, "DETACHED_PROCESS", 0) | getattr(
    subprocess, "CREATE_NEW_PROCESS_GROUP", 0
)
"""For Windows, which has no sessions."""


def start_detached(command: str, *, env: Mapping[str, str], cwd: Path | None = None) -> int:
    """Run a command line in the shell, here or in ``cwd``, and return its process id at once.

    It has a session of its own and none of our streams: a pipe of ours would end with us. For
    programs that are about to exit themselves, such as hooks; a session of pi uses ``spawn``, whose
    children end with it.
    """
    try:
        process = subprocess.Popen(
            command,
            shell=True,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            creationflags=_WITHOUT_CONSOLE,
        )
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the command
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise SpawnFailed(f"Cannot start {command!r}: {reason}.") from error
    process.returncode = 0  # not waited for: without this, Python warns that it still runs
    return process.pid

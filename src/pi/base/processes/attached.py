"""A program that gets the terminal: an editor, a pager."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from pi.base.processes.child import SpawnFailed


async def run_attached(command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> int:
    """Run a program in the foreground, with our own three streams, to its end; its exit code.

    It stays in our process group: only that one may read from the terminal. The caller has given
    the terminal back before.
    """
    try:
        process = subprocess.Popen(  # noqa: ASYNC220 - asyncio would take the terminal from it
            list(command), cwd=cwd, env=dict(env)
        )
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise SpawnFailed(
            f"Cannot run {command[0]}: {reason}.", hint="Check that it is installed and on PATH."
        ) from problem
    return await asyncio.to_thread(process.wait)

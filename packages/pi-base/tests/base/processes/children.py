"""What tests of child processes share."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from pi.base.processes import Child, Finished, run, spawn

needs_posix_shell = pytest.mark.skipif(
    sys.platform == "win32", reason="the scripts are for a POSIX shell"
)

ENV = {"PATH": os.environ.get("PATH", os.defpath)}
HERE = Path("/")
TIMEOUT_SECONDS = 60.0
"""Seconds after which a wait has failed."""


def bash(script: str, **options: Any) -> Coroutine[Any, Any, Child]:
    return spawn(["bash", "-c", script], cwd=HERE, env=ENV, **options)


def bash_to_end(script: str, **options: Any) -> Coroutine[Any, Any, Finished]:
    settings: dict[str, Any] = {"cwd": HERE, "env": ENV, "timeout": 20, "max_output": 1000}
    return run(["bash", "-c", script], **(settings | options))


def alive(pid: int) -> bool:
    """Whether a process still runs; an unreaped one does not."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return state.stdout.strip() != "" and not state.stdout.startswith("Z")


def exists(pid: int) -> bool:
    """Whether there is a process, including one that has ended and is not reaped yet."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def passing_of(seconds: float) -> None:
    passed = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, passed.set)
    await passed.wait()


def eventually(is_so: Callable[[], bool]) -> None:
    """Wait until the condition is true."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.01)

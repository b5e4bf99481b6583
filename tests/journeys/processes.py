"""The processes that a journey has started, directly or through pi."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from select import select
from typing import NamedTuple

SECONDS = 60.0
"""After this time a wait has failed."""
GRACE_SECONDS = 10.0
"""What ends with pi has this long: pi's supervisor kills commands in about a second."""


class Running(NamedTuple):
    """A process that has not ended."""

    pid: int
    command: str


def find_running(folder: Path, sessions: set[int]) -> list[Running]:
    """Return processes that belong to a journey.

    One that pi has started may have a process group and a session of its own, so it is recognised
    by what it inherits: a home or a working directory below ``folder``.
    """
    if not Path("/proc/self/environ").exists():
        return [Running(pid, "?") for pid in sessions if _has_group(pid)]
    running = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):  # it has ended, or belongs to another user
                if _belongs(entry, folder, sessions):
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    running.append(Running(int(entry.name), command.strip()))
    return running


def _belongs(entry: Path, folder: Path, sessions: set[int]) -> bool:
    state, _, _, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
    if state == "Z":
        return False
    if int(session) in sessions:
        return True
    home = f"\0HOME={folder}/".encode()
    variables = b"\0" + (entry / "environ").read_bytes()
    return home in variables or (entry / "cwd").readlink().is_relative_to(folder)


def _has_group(pid: int) -> bool:
    try:
        os.killpg(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def is_busy(pid: int) -> bool:
    """Whether a process or one of its children computes, or waits for a processor to do so."""
    try:
        tasks = [*Path(f"/proc/{pid}/task").iterdir()]
        if any((task / "stat").read_text().rpartition(")")[2].split()[0] in "RD" for task in tasks):
            return True
        children = " ".join((task / "children").read_text() for task in tasks)
    except OSError:  # it has ended, or this is not Linux
        return False
    return any(is_busy(int(child)) for child in children.split())


def wait_for_end(process: Running) -> bool:
    """Wait until a process has ended; False if it has not after ``GRACE_SECONDS``."""
    if sys.platform != "linux":
        return not _has_group(process.pid)
    try:
        fd = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select([fd], [], [], GRACE_SECONDS)[0])
    finally:
        os.close(fd)


def kill(process: Running) -> None:
    """Kill a leftover process, so that it does not disturb other journeys."""
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)

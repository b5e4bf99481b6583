"""A process with all its descendants: found again, asked to end, killed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from pi.base.records import Record

KILL_ROUNDS = 20


class Running(Record, kw_only=False):
    """One line of the system's table of processes."""

    pid: int
    parent: int
    group: int
    """Session on Linux, process group elsewhere."""
    started: str
    """Tells apart two processes that have had the same id."""
    marked: bool


class Tree:
    """A child and its descendants, found again although parents die and sessions change."""

    def __init__(self, process: subprocess.Popen[bytes], name: str) -> None:
        self._process = process
        self._name = name
        self._known: set[tuple[int, str]] = set()

    async def ask_to_end(self, grace: float) -> None:
        """Send SIGTERM to all and wait up to ``grace`` seconds until none is left."""
        if sys.platform == "win32":
            return  # where a program cannot be asked
        self._send(signal.SIGTERM, self._members())
        deadline = time.monotonic() + grace
        pause = 0.005
        while self._members() and time.monotonic() < deadline:
            await asyncio.sleep(pause)
            pause = min(pause * 2, 0.2)

    def kill(self) -> None:
        """Kill all, and what they start meanwhile; not async, so that nothing interrupts it."""
        if sys.platform == "win32":
            with suppress(OSError, subprocess.TimeoutExpired):  # it may be missing
                tool = ["taskkill", "/T", "/F", "/PID", str(self._process.pid)]
                subprocess.run(tool, capture_output=True, timeout=5)
            self._process.kill()
            return
        for _ in range(KILL_ROUNDS):
            members = self._members()
            self._send(signal.SIGKILL, members)
            if not members:
                return
            time.sleep(0.001)

    def _send(self, number: int, members: Collection[int]) -> None:
        root = self._process.pid
        ours = self._process.returncode is None  # its id is taken until it is reaped
        if ours:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(root, number)
        for pid in sorted(members):  # shells first, or they tell what became of their children
            with suppress(ProcessLookupError, PermissionError):
                if not ours or os.getpgid(pid) != root:
                    os.kill(pid, number)

    def _members(self) -> set[int]:
        table = processes(self._name)
        root = self._process.pid
        # Once ours is reaped, a process with its id is a stranger, and so is that one's group.
        group_is_ours = self._process.returncode is None or root not in table
        found = {
            entry.pid
            for entry in table.values()
            if entry.marked
            or (entry.pid, entry.started) in self._known
            or (group_is_ours and entry.group == root)
        }
        while more := {e.pid for e in table.values() if e.parent in found} - found:
            found |= more
        self._known |= {(pid, table[pid].started) for pid in found}
        return found


def processes(name: str) -> dict[int, Running]:
    """All living processes by id; marked are those that descend from the child ``name``."""
    if not Path("/proc/self/stat").exists():
        return from_ps(name)
    with os.scandir("/proc") as entries:
        running = [_from_proc(entry.name, name) for entry in entries if entry.name.isdigit()]
    return {entry.pid: entry for entry in running if entry}


def _from_proc(pid: str, name: str) -> Running | None:
    try:
        state, parent, _, session, *more = _read_proc(pid, "stat").rpartition(b")")[2].split()
    except OSError:
        return None  # it has just ended
    if state in b"ZX":
        return None
    try:
        marked = name.encode() in _read_proc(pid, "environ")
    except OSError:
        marked = False  # somebody else's
    return Running(int(pid), int(parent), int(session), more[15].decode(), marked)


def _read_proc(pid: str, what: str) -> bytes:
    # Not with Path: we read hundreds of these at once, and that would take five times as long.
    with open(f"/proc/{pid}/{what}", "rb", buffering=0) as file:  # noqa: PTH123
        return file.read()


def from_ps(name: str) -> dict[int, Running]:
    """The same from the ``ps`` command, for systems without ``/proc``."""
    flags = "-AEww" if sys.platform == "darwin" else "axeww"  # both show the environment
    command = ["ps", flags, "-o", "pid=,ppid=,pgid=,stat=,lstart=,command="]
    try:
        env = {"PATH": os.defpath, "LC_ALL": "C"}
        answer = subprocess.run(command, env=env, capture_output=True, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return {}  # then the process group alone is killed
    table: dict[int, Running] = {}
    for line in answer.stdout.split(b"\n"):
        with suppress(ValueError):  # a line of somebody's environment
            pid, parent, group, state, *started, rest = line.decode(errors="replace").split(None, 9)
            if not state.startswith("Z"):
                table[int(pid)] = Running(
                    int(pid), int(parent), int(group), " ".join(started), name in rest
                )
    return table

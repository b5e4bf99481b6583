"""Detects programs that hang: those that neither compute, read nor write for some time."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterable
from itertools import islice
from pathlib import Path

from pi.base.records import Record

IDLE_CPU_SHARE = 0.1
"""CPU share up to which a program counts as idle.

The worker threads of a hung ripgrep poll for work: measured 2 % with two threads, 6 % with sixteen.
"""
LOOKS = 6
"""Number of checks within the time after which a program counts as stalled."""
MAX_LOOKED_AT = 20_000
"""Maximum of files in a folder that are checked for growth."""


class Usage(Record):
    """Resources that a program and its descendants have used so far."""

    cpu: float
    """Seconds."""
    io: str
    """A text that changes when the program reads or writes."""
    idle_share: float = IDLE_CPU_SHARE
    """CPU share up to which the program counts as idle."""

    def is_idle_since(self, before: Usage, seconds: float) -> bool:
        """Whether nothing was read, written or computed in the last ``seconds``."""
        return self.io == before.io and self.cpu - before.cpu <= self.idle_share * seconds


def usage_of(pid: int) -> Usage | None:
    """Return the resource use of a process and its descendants; ``None`` without ``/proc``."""
    from pi.base.processes.tree import descendants, processes  # lazy: few programs are watched

    if sys.platform != "linux":
        return None
    cpu, counters = 0.0, []
    for process_id in (pid, *(process.pid for process in descendants(processes(), [pid]))):
        try:
            fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
            cpu += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            counters.append(Path(f"/proc/{process_id}/io").read_text())
        except (OSError, ValueError, IndexError):
            if process_id == pid:
                return None
    return Usage(cpu=cpu, io="".join(counters))


def memory_of(pid: int) -> int | None:
    """Return the resident bytes of a process and its descendants; ``None`` without ``/proc``."""
    from pi.base.processes.tree import descendants, processes  # lazy: few programs are watched

    if sys.platform != "linux":
        return None
    page, total = os.sysconf("SC_PAGE_SIZE"), 0
    for process_id in (pid, *(process.pid for process in descendants(processes(), [pid]))):
        try:
            total += int(Path(f"/proc/{process_id}/statm").read_text().split()[1]) * page
        except (OSError, ValueError, IndexError):
            if process_id == pid:
                return None
    return total


def visible_usage(pid: int, folder: Path, received: int) -> Usage | None:
    """Return the visible resource use where the system counts no I/O: macOS and the BSDs.

    That is the CPU time from ``ps``, the files below ``folder`` and the output ``received`` so
    far. A slow download writes elsewhere but takes CPU time, so only a program that takes none at
    all counts as idle. ``None`` where there is no ``ps``, as on Windows.
    """
    import subprocess  # lazy: slow to load, and Linux does not need it

    command = ["ps", "-A", "-o", "pid=,ppid=,time="]
    try:
        env = {"PATH": os.defpath, "LC_ALL": "C"}
        answer = subprocess.run(command, env=env, capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return None
    cpu = cpu_seconds(pid, answer.stdout.splitlines())
    return (
        None if cpu is None else Usage(cpu=cpu, io=f"{received} {_content(folder)}", idle_share=0)
    )


def cpu_seconds(pid: int, lines: Iterable[str]) -> float | None:
    """Return the CPU time of a process and its descendants from the lines of ``ps``.

    Each has the process, its parent and the time (``[days-][hours:]minutes:seconds``). ``None`` if
    the process is not among them.
    """
    parents: dict[int, int] = {}
    times: dict[int, float] = {}
    for line in lines:
        try:
            child, parent, time = line.split()
            days, _, clock = time.rpartition("-")
            seconds = 0.0
            for part in clock.split(":"):
                seconds = seconds * 60 + float(part)
            times[int(child)] = int(days or 0) * 86_400 + seconds
            parents[int(child)] = int(parent)
        except ValueError:
            continue  # a process that ended meanwhile
    if pid not in times:
        return None
    tree, size_before = {pid}, -1
    while size_before != len(tree):
        size_before = len(tree)
        tree |= {child for child, parent in parents.items() if parent in tree}
    return sum(times[process] for process in tree)


def _content(folder: Path) -> str:
    """Return number, sizes and times of the files below ``folder``, as one text."""
    count = size = latest = 0
    for root, _, names in islice(os.walk(folder), MAX_LOOKED_AT):
        for name in names:
            try:
                status = os.lstat(f"{root}{os.sep}{name}")
            except OSError:
                continue  # removed meanwhile
            count, size = count + 1, size + status.st_size
            latest = max(latest, status.st_mtime_ns)
        if count > MAX_LOOKED_AT:
            break
    return f"{count} {size} {latest}"


async def is_stalled(
    wait_for_end: Callable[[], Awaitable[object]], usage: Callable[[], Usage | None], seconds: float
) -> bool:
    """Wait until a program has ended (False), or did nothing for ``seconds`` (True)."""
    used = await asyncio.to_thread(usage)
    pause, idle = seconds / LOOKS, 0
    while idle < LOOKS:
        try:
            async with asyncio.timeout(pause):
                await wait_for_end()
            return False
        except TimeoutError:
            before, used = used, await asyncio.to_thread(usage)
            is_idle = used is not None and before is not None and used.is_idle_since(before, pause)
            idle = idle + 1 if is_idle else 0
    return True

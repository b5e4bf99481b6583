"""Process table: finds descendants, and signals processes without hitting reused ids.

Also loaded by the supervisor (``supervisor.py``), which has no site-packages and should start in
milliseconds: it imports only cheap modules of the standard library.
"""

from __future__ import annotations

# ruff: noqa: SIM105
import _signal as signal  # type: ignore[import-not-found]  # signal loads enum: see supervisor.py
import os
import sys

TYPE_CHECKING = False  # importing typing would take a third of the supervisor's start
if TYPE_CHECKING:
    from collections.abc import Iterable


def is_running(pid: int) -> bool:
    """Whether a process exists. Always True on Windows, where signal 0 would end it."""
    if sys.platform == "win32":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of another user
        return True
    return True


class ProcessInfo:
    """One row of the process table."""

    __slots__ = ("group", "marked", "parent", "pid", "session", "started", "stopped")

    def __init__(
        self,
        pid: int,
        parent: int,
        group: int,
        session: int,
        *,
        started: str,
        stopped: bool,
        marked: bool,
    ) -> None:
        self.pid = pid
        self.parent = parent
        self.group = group
        self.session = session
        """Equal to ``group`` where the system does not show it."""
        self.started = started
        """Distinguishes two processes that have had the same id."""
        self.stopped = stopped
        self.marked = marked
        """Whether its environment contains the marker."""


class ProcessTree:
    """A program and its descendants, where no subreaper adopts orphans.

    Descendants are found by their parents, by the session or group of the program, by a marker in
    their environment, and by having been seen before. One that has changed its session, cleared its
    environment and lost its parent before the first look is not found: only a child subreaper (see
    ``supervisor.py``) finds that.
    """

    def __init__(self, root: int, marker: str) -> None:
        self.root = root
        self.is_reaped = False
        """Set by the owner once the program was reaped: its id may then belong to another process.
        """
        self._marker = marker
        self._recognised: set[tuple[int, str]] = set()

    def members(self) -> list[ProcessInfo]:
        """Return the living members, parents before their children."""
        table = processes(self._marker)
        owns_group = not self.is_reaped or self.root not in table
        direct_members = [
            process
            for process in table.values()
            if process.marked
            or (process.pid, process.started) in self._recognised
            or (owns_group and self.root in (process.group, process.session))
        ]
        members = {process.pid: process for process in direct_members}
        members |= {process.pid: process for process in descendants(table, members)}
        self._recognised |= {(process.pid, process.started) for process in members.values()}
        return sorted(members.values(), key=lambda process: process.pid)


def descendants(table: dict[int, ProcessInfo], roots: Iterable[int]) -> list[ProcessInfo]:
    """Return everything below ``roots``, parents before their children."""
    children: dict[int, list[ProcessInfo]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process)
    below: list[ProcessInfo] = []
    seen = set(roots)
    level = list(seen)
    while level:
        next_level = [
            process for pid in level for process in children.get(pid, ()) if process.pid not in seen
        ]
        seen.update(process.pid for process in next_level)
        below += next_level
        level = [process.pid for process in next_level]
    return below


def signal_all(members: Iterable[ProcessInfo], number: int, *, group: int | None = None) -> None:
    """Send a signal to processes of the table, and to ``group`` (of an unreaped leader) at once.

    The group comes first, so that a shell ends before it can report the end of its children.
    Stopped processes are continued after SIGTERM, because they would never handle it otherwise.
    """
    if group is not None:
        try:
            os.killpg(group, number)
        except (ProcessLookupError, PermissionError):
            pass
    for process in members:
        if process.group != group:
            send(process, number)
        if process.stopped and number == signal.SIGTERM:
            send(process, signal.SIGCONT)


def send(process: ProcessInfo, number: int) -> None:
    """Signal a process, unless its id was reused."""
    try:
        _send(process, number)
    except (ProcessLookupError, PermissionError):
        pass


def _send(process: ProcessInfo, number: int) -> None:
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    except (AttributeError, OSError):  # not on Linux; an old kernel, a sandbox
        if _is_same(process):
            os.kill(process.pid, number)
        return
    try:  # the handle pins the id: the process that is checked is the one that is signalled
        if _is_same(process):
            signal.pidfd_send_signal(handle, number)
    finally:
        os.close(handle)


def _is_same(process: ProcessInfo) -> bool:
    if not _has_proc():
        return True  # the table of ``ps`` is a moment old, and reading it again takes as long
    now = _from_proc(str(process.pid), b"")
    return now is not None and now.started == process.started


def processes(marker: str = "") -> dict[int, ProcessInfo]:
    """Return all living processes by id; those with ``marker`` in their environment are marked."""
    if not _has_proc():
        return from_ps(marker)
    name = marker.encode()
    with os.scandir("/proc") as entries:
        running = [_from_proc(entry.name, name) for entry in entries if entry.name.isdigit()]
    return {entry.pid: entry for entry in running if entry}


def _has_proc() -> bool:
    return os.path.exists("/proc/self/stat")  # noqa: PTH110 - pathlib costs the supervisor 5 ms


def _from_proc(pid: str, marker: bytes) -> ProcessInfo | None:
    try:
        fields = _read_proc(pid, "stat").rpartition(b")")[2].split()
    except OSError:
        return None  # it has just ended
    state, parent, group, session, *more = fields
    if state in b"ZX":
        return None
    marked = False
    if marker:
        try:
            marked = marker in _read_proc(pid, "environ")
        except OSError:
            pass  # another user's
    return ProcessInfo(
        int(pid),
        int(parent),
        int(group),
        int(session),
        started=more[15].decode(),
        stopped=state in b"Tt",
        marked=marked,
    )


def _read_proc(pid: str, name: str) -> bytes:
    # Not with Path: hundreds of these are read at once, and that would take five times as long.
    with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:  # noqa: PTH123
        return file.read()


def from_ps(marker: str = "") -> dict[int, ProcessInfo]:
    """Return ``processes`` from the ``ps`` command, for systems without ``/proc``."""
    import subprocess  # lazy: slow to load, and Linux does not need it

    flags = "-AEww" if sys.platform == "darwin" else "axeww"  # both show the environment
    command = ["ps", flags, "-o", "pid=,ppid=,pgid=,stat=,lstart=,command="]
    try:
        env = {"PATH": os.defpath, "LC_ALL": "C"}
        answer = subprocess.run(command, env=env, capture_output=True, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return {}  # then only the process group is killed
    table: dict[int, ProcessInfo] = {}
    for line in answer.stdout.split(b"\n"):
        try:
            pid, parent, group, state, *started, rest = line.decode(errors="replace").split(None, 9)
            process = ProcessInfo(
                int(pid),
                int(parent),
                int(group),
                int(group),
                started=" ".join(started),
                stopped=state.startswith("T"),
                marked=bool(marker) and marker in rest,
            )
        except ValueError:
            continue  # a line of a multi-line variable
        if not state.startswith("Z"):
            table[process.pid] = process
    return table

"""Runs a real program as a child and reports what it cost.

``measure`` runs a command to its end. ``running`` is its base, also used by
``bench.terminal``: leaving its ``with`` block early kills the command's process group.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from pi.base.records import Record

DEADLINE = 30.0
"""Default time limit of a command, in seconds."""

_SPAWNER = Path(__file__).with_name("spawner.py")
_MEMORY_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes that ``ru_maxrss`` counts in."""


class CannotMeasure(Exception):
    """The command could not be started, did not end in time or ended badly."""


class Run(Record):
    """The cost of one run of a command."""

    started_ns: int
    """``time.monotonic_ns`` just before the program was started."""
    wall: float
    """Seconds from there to its end."""
    cpu: float
    """Seconds of user and system time, with all descendants that were waited for."""
    peak_memory: int
    """Bytes, of the largest process among them."""
    exit_code: int
    """Negative: killed by this signal."""
    output: bytes
    error_output: bytes


class Child:
    """A running command."""

    def __init__(
        self, command: Sequence[str], process: subprocess.Popen[bytes], report: IO[str]
    ) -> None:
        self.process = process
        self._command = command
        self._report = report
        match report.readline().split():
            case ["started", pid, started_ns]:
                self.pid = int(pid)
                self.started_ns = int(started_ns)
            case ["failed", number]:
                raise CannotMeasure(f"cannot start {command[0]}: {os.strerror(int(number))}")
            case _:
                raise CannotMeasure(f"cannot start {command[0]}: the spawner died")

    def result(self, output: bytes, error_output: bytes = b"") -> Run:
        """The cost of the run; waits for its end."""
        match self._report.readline().split():
            case ["ended", ended_ns, cpu, memory, code]:
                return Run(
                    started_ns=self.started_ns,
                    wall=(int(ended_ns) - self.started_ns) / 1e9,
                    cpu=float(cpu),
                    peak_memory=int(memory) * _MEMORY_UNIT,
                    exit_code=int(code),
                    output=output,
                    error_output=error_output,
                )
            case _:
                raise CannotMeasure(f"{self._command[0]} was killed together with its spawner")


@contextmanager
def running(
    command: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: int = subprocess.PIPE,
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
) -> Iterator[Child]:
    """Start ``command`` in a session and process group of its own."""
    read_end, write_end = os.pipe()
    with os.fdopen(read_end) as report:
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_SPAWNER), str(write_end), *command],
                cwd=cwd,
                env=clean_environment(os.environ) if env is None else env,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=[write_end],
                start_new_session=True,
            )
        finally:
            os.close(write_end)
        try:
            yield Child(command, process, report)
        finally:
            _end(process)


def measure(
    command: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    deadline: float = DEADLINE,
) -> Run:
    """Run ``command`` to its end; raises ``CannotMeasure`` after ``deadline`` seconds."""
    with running(command, cwd=cwd, env=env) as child:
        try:
            output, errors = child.process.communicate(stdin, timeout=deadline)
        except subprocess.TimeoutExpired as late:
            message = f"{' '.join(command)} did not end within {deadline:g} s"
            raise CannotMeasure(message) from late
        return child.result(output, errors)


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """``environment`` without settings that change what Python costs.

    PYTHONDONTWRITEBYTECODE alone doubles the time that imports take.
    """
    return {name: text for name, text in environment.items() if not name.startswith("PYTHON")}


def resident_memory(pid: int) -> int:
    """Bytes of memory that a running process occupies now."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except FileNotFoundError:  # no /proc here: macOS
        listing = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True
        )
        return int(listing.stdout) * 1024
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def processor_seconds(pid: int) -> float:
    """Seconds of user and system time that a running process has used; needs ``/proc``."""
    if threads := [*Path(f"/proc/{pid}/task").glob("*/schedstat")]:  # counts nanoseconds
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError as missing:
        raise CannotMeasure("the CPU of a running program is only known to /proc") from missing
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the group if its leader was not waited for yet, so the id cannot be another's."""
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):  # macOS refuses to signal a zombie
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            pipe.close()

"""Starts programs without a supervisor: as a direct child of pi, or detached from it.

A detached command outlives pi: nothing waits for it, reads it or ends it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from pi.base.errors import PiError
from pi.base.processes.tree import ProcessTree, signal_all

KILL_ROUNDS = 20
_WITHOUT_CONSOLE = getattr(subprocess, "DETACHED_PROCESS", 0) | getattr(
    subprocess, "CREATE_NEW_PROCESS_GROUP", 0
)
"""For Windows, which has no sessions."""


class SpawnFailed(PiError):
    """A program could not be started."""


class DirectProcess:
    """A direct child; its descendants are searched for only when it is terminated."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        marker: str,
        stdin: bool,
        output: bool,
        errors: bool,
    ) -> None:
        self._popen = _popen()(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE if output else subprocess.DEVNULL,
            stderr=subprocess.PIPE if errors else subprocess.STDOUT,
            bufsize=0,
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self.pid = self._popen.pid
        self.stdin, self.stdout, self.stderr = (
            self._popen.stdin,
            self._popen.stdout,
            self._popen.stderr,
        )
        self._tree = ProcessTree(self.pid, marker)
        self._loop = asyncio.get_running_loop()
        self._pidfd: int | None = None
        self._on_exit: Callable[[], None] = lambda: None

    @property
    def returncode(self) -> int | None:
        """Exit code, -n for signal n; ``None`` while it runs."""
        return self._popen.returncode

    @property
    def is_running(self) -> bool:
        """Whether the program itself runs, regardless of its descendants."""
        return self._popen.poll() is None

    @property
    def is_gone(self) -> bool:
        """Whether the program and everything it started have ended."""
        if self._popen.returncode is None:
            return False
        return sys.platform == "win32" or not self._members()

    def watch(self, on_exit: Callable[[], None]) -> None:
        """Call ``on_exit`` when it has ended, without a thread where the system supports that."""
        self._on_exit = on_exit
        try:
            self._pidfd = os.pidfd_open(self.pid)
        except (AttributeError, OSError):  # not on Linux; an old kernel, a strict sandbox
            threading.Thread(target=self._wait_in_thread, daemon=True).start()
        else:
            self._loop.add_reader(self._pidfd, self._note_exit)

    async def terminate(self, grace: float) -> None:
        """Send SIGTERM to all and wait up to ``grace`` seconds until none is left."""
        if sys.platform == "win32":
            return  # Windows has no SIGTERM
        self._signal(signal.SIGTERM)
        deadline = time.monotonic() + grace
        pause = 0.005
        while self._members() and time.monotonic() < deadline:
            await asyncio.sleep(pause)
            pause = min(pause * 2, 0.2)

    def interrupt(self) -> None:
        """Send SIGINT to the program's process group; on Windows nothing is sent."""
        if sys.platform != "win32" and self._popen.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGINT)

    def kill(self) -> None:
        """Kill all, including new children; not async, so that it cannot be interrupted."""
        if sys.platform == "win32":
            with suppress(OSError, subprocess.TimeoutExpired):  # the program may be missing
                tool = ["taskkill", "/T", "/F", "/PID", str(self.pid)]
                subprocess.run(tool, capture_output=True, timeout=5)
            self._popen.kill()
        else:
            for _ in range(KILL_ROUNDS):
                if not self._signal(signal.SIGKILL):
                    break
                time.sleep(0.001)
        with suppress(subprocess.TimeoutExpired):  # stuck in the kernel
            self._popen.wait(timeout=1)
            self._note_exit()

    def _members(self) -> bool:
        self._tree.is_reaped = self._popen.returncode is not None
        return bool(self._tree.members())

    def _signal(self, number: int) -> bool:
        """Signal all; returns whether there was anything to signal."""
        self._tree.is_reaped = self._popen.returncode is not None
        members = self._tree.members()
        signal_all(members, number, group=None if self._tree.is_reaped else self.pid)
        return bool(members)

    def _wait_in_thread(self) -> None:
        self._popen.wait()
        with suppress(RuntimeError):  # the loop was closed meanwhile
            self._loop.call_soon_threadsafe(self._note_exit)

    def _note_exit(self) -> None:
        self._popen.wait()
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None
        self._on_exit()


def _popen() -> type[subprocess.Popen[bytes]]:
    if sys.platform == "win32":
        from asyncio import windows_utils  # whose pipes can be read without blocking

        return windows_utils.Popen
    # Not asyncio's own: that takes 40 % more CPU, and before Python 3.12 a thread per child.
    return subprocess.Popen


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

"""A program on a pseudo terminal, as a user would start it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shlex
import signal
import struct
import sys
import termios
import time
from pathlib import Path
from types import TracebackType
from typing import Any

SCRIPT = Path(__file__).with_name("pty_demo.py")
SECONDS = 60.0


class PtyProgram:
    """Starts ``pty_demo.py`` on its own terminal; leaving the block kills it.

    ``shell`` is a bash script that replaces the program; ``$DEMO`` runs the program.
    """

    def __init__(self, *, env: dict[str, str] | None = None, shell: str = "") -> None:
        demo = [sys.executable, str(SCRIPT)]
        command = ["/bin/bash", "-c", shell.replace("$DEMO", shlex.join(demo))] if shell else demo
        self.output = b""
        self._master, slave = pty.openpty()
        self.attributes: list[Any] = termios.tcgetattr(slave)
        self._slave = slave
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            os.close(self._master)
            for fd in (0, 1, 2):
                os.dup2(slave, fd)
            try:
                environment = {**os.environ, "TERM": "xterm-256color", "PYTHON_COLORS": "0"}
                environment |= env or {}
                os.execve(command[0], command, environment)
            finally:
                os._exit(127)

    def __enter__(self) -> PtyProgram:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        for fd in (self._master, self._slave):
            if fd >= 0:
                os.close(fd)

    def type(self, data: bytes) -> None:
        os.write(self._master, data)

    def wait_for(self, text: bytes, *, after: int = 0) -> None:
        """Reads until ``text`` was written."""
        end = time.monotonic() + SECONDS
        while text not in self.output[after:]:
            assert time.monotonic() < end, self.output
            self._read()

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def hang_up(self) -> None:
        """Closes the window."""
        os.close(self._slave)
        os.close(self._master)
        self._master = self._slave = -1

    def end(self) -> int:
        """Waits for the program to end. Returns its exit code, negative for a signal."""
        end = time.monotonic() + SECONDS
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
                self._read_rest()
                return os.waitstatus_to_exitcode(status)
            assert time.monotonic() < end, self.output
            if self._master >= 0:
                self._read()

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def unread_input(self) -> bytes:
        """Returns the input that a shell would read now, key by key."""
        attributes = termios.tcgetattr(self._slave)
        attributes[3] &= ~termios.ICANON
        termios.tcsetattr(self._slave, termios.TCSANOW, attributes)
        return os.read(self._slave, 65_536) if is_readable(self._slave) else b""

    def terminal_attributes(self) -> list[Any]:
        return termios.tcgetattr(self._slave)

    def _read(self) -> None:
        if is_readable(self._master, 0.05):
            self.output += os.read(self._master, 65_536)

    def _read_rest(self) -> None:
        while self._master >= 0 and is_readable(self._master):
            self.output += os.read(self._master, 65_536)


def is_readable(fd: int, seconds: float = 0.0) -> bool:
    """Wait until there is input, or the other side is closed; False if there is none in time."""
    poll = select.poll()  # select() refuses file descriptors above 1023
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(max(seconds, 0) * 1000))

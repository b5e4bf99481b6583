"""Relay process between a program on a terminal and the pipes of pi.

Run as a script with the size and the program as arguments; it uses only the standard library. It
opens a terminal, runs the program in it, passes on its output and exits with its exit code. Its
input consists of frames of one letter and a length: ``i`` for keys, ``r`` for a new size.
"""

from __future__ import annotations

import os
import select
import signal
import struct
import sys
import time
from collections.abc import Callable
from typing import NoReturn

FRAME = struct.Struct("!cI")
SIZE = struct.Struct("!HH")
READ_SIZE = 65536
PAUSE = 0.05
QUIET_AFTER_EXIT = 0.1
"""Seconds of silence after the end of a program in which its background processes may write."""
MAX_DRAIN_SECONDS = 1.0
"""Seconds after which output of a background process is no longer read."""


def main(
    arguments: list[str], *, open_terminal: Callable[[], tuple[int, int]] | None = None
) -> int:
    """Run ``COLUMNS ROWS PROGRAM ARGS…`` in a terminal; returns the program's exit code.

    If the system has no terminal to offer, reports that and runs the program without one.
    """
    columns, rows, *command = arguments
    try:
        ours, theirs = (open_terminal or os.openpty)()
    except OSError as error:
        _run_without(command, error)
    resize(theirs, int(columns), int(rows))
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        os.login_tty(theirs)
        os.execvp(command[0], command)
    os.close(theirs)
    # A signal to this process ends the program too: its last output is passed on first.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    return Relay(pid, ours).run()


def _run_without(command: list[str], error: OSError) -> NoReturn:
    reason = error.strerror or error
    os.write(1, f"PTY error: {reason}; the command runs without a terminal.\n".encode())
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the frames on our input are not for the program
    os.execvp(command[0], command)


def resize(terminal: int, columns: int, rows: int) -> None:
    """Set the size of a terminal; the program in it gets SIGWINCH."""
    import fcntl  # lazy: neither exists on Windows
    import termios

    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


class Relay:
    """Passes bytes both ways until the program has ended and is quiet."""

    def __init__(self, pid: int, terminal: int) -> None:
        self._pid = pid
        self._terminal = terminal
        self._is_open = True
        self._input = bytearray()
        self._sources = [0, terminal]

    def run(self) -> int:
        """Relay until the end; returns the exit code, 128 + n for signal n."""
        exited = status = 0
        while self._is_open and not exited:
            self._relay(PAUSE)
            exited, status = os.waitpid(self._pid, os.WNOHANG)
        if not exited:
            status = os.waitpid(self._pid, 0)[1]
        self._sources = [self._terminal]
        deadline = time.monotonic() + MAX_DRAIN_SECONDS
        while self._is_open and self._relay(QUIET_AFTER_EXIT) and time.monotonic() < deadline:
            pass
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code

    def _relay(self, seconds: float) -> bool:
        """Pass on the next data that arrives in time; returns whether there was output."""
        ready = select.select(self._sources, [], [], seconds)[0]
        if 0 in ready:
            self._read_input()
        if self._terminal in ready:
            self._forward_output()
        return self._terminal in ready

    def _forward_output(self) -> None:
        try:
            data = os.read(self._terminal, READ_SIZE)
        except OSError:  # on Linux: the terminal is closed on the other side
            data = b""
        self._is_open = bool(data)
        while data:
            data = data[os.write(1, data) :]

    def _read_input(self) -> None:
        data = os.read(0, READ_SIZE)
        if not data:
            self._sources.remove(0)
        self._input += data
        while len(self._input) >= FRAME.size:
            kind, length = FRAME.unpack_from(self._input)
            frame = bytes(self._input[FRAME.size : FRAME.size + length])
            if len(frame) < length:
                return
            del self._input[: FRAME.size + length]
            if kind == b"r":
                resize(self._terminal, *SIZE.unpack(frame))
            else:
                os.write(self._terminal, frame)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

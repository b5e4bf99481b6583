"""A process between a command on a terminal and us, who have pipes.

Started as a script with the size and the command as arguments, with nothing but the standard
library: it makes a terminal, runs the command in it, hands on what it writes, and ends as it ends.
On its input come frames of one letter and a length: ``i`` for keys, ``r`` for a new size.
"""

from __future__ import annotations

import os
import select
import struct
import sys
import time

FRAME = struct.Struct("!cI")
SIZE = struct.Struct("!HH")
READ_SIZE = 65536
PAUSE = 0.05
QUIET_AFTER_EXIT = 0.1
"""Seconds of silence after the end of a command in which its background processes may write."""


def main(arguments: list[str]) -> int:
    """Run ``COLUMNS ROWS PROGRAM ARGS…`` in a terminal; the exit code is the program's."""
    columns, rows, *command = arguments
    ours, theirs = os.openpty()
    resize(theirs, int(columns), int(rows))
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        os.login_tty(theirs)
        os.execvp(command[0], command)
    os.close(theirs)
    return Relay(pid, ours).run()


def resize(terminal: int, columns: int, rows: int) -> None:
    """Tell a terminal how large it is; the program in it hears of that by a signal."""
    import fcntl  # neither of them on Windows
    import termios

    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


class Relay:
    """Carries bytes both ways until the program has ended and is quiet."""

    def __init__(self, pid: int, terminal: int) -> None:
        self._pid = pid
        self._terminal = terminal
        self._input = bytearray()
        self._sources = [0, terminal]

    def run(self) -> int:
        """Carry on to the end; the exit code, 128 + n for a signal."""
        status: int | None = None
        deadline = 0.0
        while self._terminal in self._sources:
            ready = select.select(self._sources, [], [], PAUSE)[0]
            if self._terminal in ready and not self._hand_on_output():
                break
            if 0 in ready:
                self._take_input()
            if status is None:
                ended, found = os.waitpid(self._pid, os.WNOHANG)
                status = found if ended else None
            if status is None or self._terminal in ready:
                deadline = time.monotonic() + QUIET_AFTER_EXIT
            elif time.monotonic() > deadline:
                break
        if status is None:
            status = os.waitpid(self._pid, 0)[1]
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code

    def _hand_on_output(self) -> bool:
        try:
            data = os.read(self._terminal, READ_SIZE)
        except OSError:  # how Linux says that nobody has the terminal open any more
            return False
        while data:
            data = data[os.write(1, data) :]
            if not data:
                return True
        return False

    def _take_input(self) -> None:
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

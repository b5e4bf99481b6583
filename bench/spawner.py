"""Starts one command, waits for it and reports what it cost: ``spawner.py REPORT_FD COMMAND…``.

A program of its own, run by ``bench.measure``, because the kernel counts the memory that a process
occupies before exec into the peak of what it then runs. This one is small, and it forks: the copy
comes without the pages of mapped files, while posix_spawn would count all pages of the parent.
It writes two lines to REPORT_FD:

    started PID MONOTONIC_NS
    ended MONOTONIC_NS CPU_SECONDS PEAK_MEMORY EXIT_CODE

or, if the command cannot be started, ``failed ERRNO``.
"""

from __future__ import annotations

import os
import signal
import sys
import time

_KEYS = (signal.SIGINT, signal.SIGQUIT)
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


def main() -> None:
    """Run the command of the command line."""
    report, command = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(report, False)  # noqa: FBT003 - the function takes no keywords
    if os.isatty(0):
        own_terminal()
    started = time.monotonic_ns()
    pid, error = start(command)
    if error:
        os.write(report, b"failed %b\n" % error)
        return
    os.write(report, f"started {pid} {started}\n".encode())
    _, status, usage = os.wait4(pid, 0)
    ended = time.monotonic_ns()
    cpu = usage.ru_utime + usage.ru_stime
    code = os.waitstatus_to_exitcode(status)
    os.write(report, f"ended {ended} {cpu:.6f} {usage.ru_maxrss} {code}\n".encode())


def start(command: list[str]) -> tuple[int, bytes]:
    """Start ``command``: its process id, and the number of the error that prevented it."""
    # A successful exec closes the pipe, like every descriptor that Python opens.
    exec_failed, failure_pipe = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            for number in (*_KEYS, *_IGNORED_BY_PYTHON):
                signal.signal(number, signal.SIG_DFL)
            os.execvp(command[0], command)
        except OSError as error:
            os.write(failure_pipe, str(error.errno).encode())
        finally:
            os._exit(127)
    os.close(failure_pipe)
    return pid, os.read(exec_failed, 16)


def own_terminal() -> None:
    """Make the terminal on standard input the controlling one; its keys are for the command."""
    import fcntl  # POSIX only, and not needed without a terminal
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for number in _KEYS:
        signal.signal(number, signal.SIG_IGN)


if __name__ == "__main__":
    main()

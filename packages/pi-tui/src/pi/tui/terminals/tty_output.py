"""Non-blocking writes to a terminal device, and the capture of stray output. POSIX.

The device is opened a second time, because blocking is a property of the open file. So stdin and
the shell's descriptor stay unchanged, and what libraries and children print to the standard
descriptors can be kept off the screen.
"""

from __future__ import annotations

import asyncio
import os
import select
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from pi.base.terminal_text import sanitise

MAX_STRAY = 64_000
"""Bytes of captured output that are shown afterwards."""
_SELECTABLE = 1024
"""``select.select`` takes only smaller numbers."""


def is_ready(fd: int, event: int, seconds: float) -> bool:
    """Return whether a device can be read (``select.POLLIN``) or written (``POLLOUT``) in time."""
    if fd < _SELECTABLE:  # not ``poll`` for all: on macOS it refuses ``/dev/tty``
        is_input = event == select.POLLIN
        return any(select.select((fd,) * is_input, (fd,) * (not is_input), (), seconds))
    poll = select.poll()
    poll.register(fd, event)
    return bool(poll.poll(seconds * 1000))


class TtyOutput:
    """Queues bytes for the terminal and calls ``on_disconnect`` when it is gone.

    With ``log``, all output is also appended to that file.
    """

    def __init__(
        self, fd: int, *, on_disconnect: Callable[[], None], log: Path | None = None
    ) -> None:
        self._fd = _reopen(fd)
        self._on_disconnect = on_disconnect
        self._log = log
        self._waiting = b""
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def backlog(self) -> int:
        """Bytes that the terminal has not taken yet."""
        return len(self._waiting)

    def write(self, data: str) -> None:
        """Send as much as the terminal takes now, and the rest later."""
        encoded = data.encode("utf-8", "replace")
        if self._log is not None:
            with self._log.open("ab") as log:
                log.write(encoded)
        self._waiting += encoded
        if self._loop is None:
            self._send()

    def flush(self, seconds: float) -> None:
        """Send the rest, for at most ``seconds``."""
        self._stop_waiting()
        deadline = now() + seconds
        while self._waiting and (remaining := deadline - now()) > 0:
            if is_ready(self._fd, select.POLLOUT, remaining):
                self._send_some()

    def close(self) -> None:
        """Close the device; unsent bytes are lost."""
        self._stop_waiting()
        with suppress(OSError):
            os.close(self._fd)

    def _send(self) -> None:
        self._send_some()
        if not self._waiting:
            self._stop_waiting()
        elif self._loop is None:
            with suppress(RuntimeError):  # no event loop: ``flush`` sends the rest
                loop = asyncio.get_running_loop()
                loop.add_writer(self._fd, self._send)
                self._loop = loop

    def _send_some(self) -> None:
        try:
            sent = os.write(self._fd, self._waiting)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:  # EIO, EPIPE: the window was closed or the connection is lost
            self._waiting = b""
            self._on_disconnect()
            return
        self._waiting = self._waiting[sent:]

    def _stop_waiting(self) -> None:
        if self._loop is not None:
            if not self._loop.is_closed():
                self._loop.remove_writer(self._fd)
            self._loop = None


def _reopen(fd: int) -> int:
    """Open the device of a descriptor again for non-blocking writes.

    The device may have no name (in a container) or belong to another user (after ``su``). The
    controlling terminal can still be opened. Without one, writes may block.
    """
    flags = os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK
    with suppress(OSError):
        return os.open(os.ttyname(fd), flags)
    with suppress(OSError):
        os.tcgetpgrp(fd)  # fails for all but the controlling terminal
        return os.open("/dev/tty", flags)
    return os.dup(fd)


class OutputCapture:
    """Captures what libraries, warnings and children print, and returns it afterwards.

    Only descriptors that are the terminal are redirected. Files and pipes are not affected.
    """

    def __init__(self) -> None:
        self._captured = _scratch_file()
        self._originals: dict[int, int] = {}
        _flush_standard_streams()
        for fd in (1, 2):
            if os.isatty(fd):
                self._originals[fd] = os.dup(fd)
                os.dup2(self._captured.fileno(), fd)

    def release(self) -> str:
        """Restore the descriptors. Returns the captured text without control sequences."""
        _flush_standard_streams()
        for fd, original in self._originals.items():
            os.dup2(original, fd)
            os.close(original)
        self._originals.clear()
        self._captured.seek(0)
        text = self._captured.read(MAX_STRAY).decode("utf-8", "replace")
        self._captured.close()
        return sanitise(text)


def _flush_standard_streams() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()


def now() -> float:
    """Return monotonic seconds."""
    import time  # lazy: needed at exit only; all other code receives the time as an argument

    return time.monotonic()


def _scratch_file() -> BinaryIO:
    """Return an unnamed file; the caller closes it."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("pi-output"), "w+b")
    import tempfile  # lazy: the import costs half of the time budget of the first frame

    return tempfile.TemporaryFile()

"""Runs a program under a pseudo-terminal: press keys, wait for what appears, count and time it."""

from __future__ import annotations

import errno
import os
import re
import select
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.measure import (
    DEADLINE,
    CannotMeasure,
    Child,
    Run,
    processor_seconds,
    resident_memory,
    running,
)


class Terminal:
    """The far side of a program's terminal."""

    def __init__(self, master: int, child: Child) -> None:
        self._master = master
        self._child = child
        self._output = bytearray()
        self._open = True
        self._sent_ns = child.started_ns
        self._seen = 0

    @property
    def output(self) -> bytes:
        """Everything the program wrote, as far as it was read."""
        return bytes(self._output)

    def send(self, keys: bytes) -> None:
        """Type ``keys``. What the program wrote before no longer counts for ``wait_for``."""
        limit = time.monotonic() + 1
        while time.monotonic() < limit and self._read(0):
            pass
        self._seen = len(self._output)
        self._sent_ns = time.monotonic_ns()
        os.write(self._master, keys)

    def wait_for(self, pattern: bytes, *, within: float = DEADLINE) -> float:
        """Seconds from the last keys, or else the start, until ``pattern`` was written."""
        expected = re.compile(pattern)
        limit = time.monotonic() + within
        while not expected.search(self._output, self._seen):
            if (remaining := limit - time.monotonic()) < 0 or not self._read(remaining):
                reason = f"did not appear within {within:g} s" if self._open else "never appeared"
                raise CannotMeasure(f"{pattern!r} {reason}; last: {self.output[-200:]!r}")
        return (time.monotonic_ns() - self._sent_ns) / 1e9

    def memory(self) -> int:
        """Bytes of memory that the program occupies now."""
        return resident_memory(self._child.pid)

    def cpu(self) -> float:
        """Seconds of CPU that the program has used up to now."""
        return processor_seconds(self._child.pid)

    def watch(self, seconds: float) -> None:
        """Read the output of the program for ``seconds``."""
        limit = time.monotonic() + seconds
        while (remaining := limit - time.monotonic()) > 0:
            self._read(remaining)

    def finish(self, *, within: float = DEADLINE) -> Run:
        """Wait until the program ends by itself; returns its cost."""
        limit = time.monotonic() + within
        while (remaining := limit - time.monotonic()) > 0 and self._read(remaining):
            pass
        try:
            self._child.process.wait(max(0, limit - time.monotonic()))
        except subprocess.TimeoutExpired as late:
            raise CannotMeasure(f"the program did not end within {within:g} s") from late
        return self._child.result(self.output)

    def _read(self, timeout: float) -> bool:
        """Read available output; False if none came in time or the program closed its side."""
        poll = select.poll()  # select() refuses file descriptors above 1023
        poll.register(self._master, select.POLLIN)
        if not self._open or not poll.poll(timeout * 1000):
            return False
        try:
            data = os.read(self._master, 1 << 16)
        except OSError as error:
            if error.errno != errno.EIO:  # on Linux: the other side is closed
                raise
            data = b""
        self._output += data
        self._open = bool(data)
        return self._open


@contextmanager
def terminal(
    command: Sequence[str],
    *,
    columns: int = 120,
    rows: int = 40,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Iterator[Terminal]:
    """Start ``command`` in a terminal of this size; leaving the block early kills it."""
    import termios  # POSIX only, as pseudo-terminals are

    with ExitStack() as opened:
        master, slave = os.openpty()
        opened.callback(os.close, master)
        try:
            termios.tcsetwinsize(slave, (rows, columns))
            child = opened.enter_context(
                running(command, cwd=cwd, env=env, stdin=slave, stdout=slave, stderr=slave)
            )
        finally:
            os.close(slave)
        yield Terminal(master, child)

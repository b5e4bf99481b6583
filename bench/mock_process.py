"""The mock server as a child process, and the requests of a benchmark to it."""

from __future__ import annotations

import http.client
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from bench.exchanges import Exchange

ROOT = Path(__file__).resolve().parent.parent
_TIMEOUT_SECONDS = 10.0
"""Seconds that starting, answering and ending may take each."""


class MockProcess:
    """A running mock server."""

    def __init__(self, port: int) -> None:
        self.port = port

    def log(self) -> list[Exchange]:
        """Every exchange since the last reset, in order of arrival."""
        return msgspec.json.decode(self._call("GET", "/__log"), type=list[Exchange])

    def reset(self) -> None:
        """Forget all exchanges."""
        self._call("POST", "/__reset")

    def stop(self) -> None:
        """Ask the server to end."""
        self._call("POST", "/__stop")

    def _call(self, method: str, path: str) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_TIMEOUT_SECONDS)
        try:
            connection.request(method, path)
            return connection.getresponse().read()
        finally:
            connection.close()


@contextmanager
def mock_server() -> Iterator[MockProcess]:
    """Start a mock server; it ends with the block."""
    with subprocess.Popen(
        [sys.executable, "-m", "bench.mock_server"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl+C is for the benchmark, which then closes the input
    ) as process:
        try:
            yield MockProcess(_port(process))
        finally:
            try:
                process.communicate(timeout=_TIMEOUT_SECONDS)  # closes its input: the sign to end
            except subprocess.TimeoutExpired:
                process.kill()


def _port(process: subprocess.Popen[bytes]) -> int:
    assert process.stdout
    poll = select.poll()  # select() refuses file descriptors above 1023
    poll.register(process.stdout, select.POLLIN)
    line = process.stdout.readline() if poll.poll(_TIMEOUT_SECONDS * 1000) else b""
    if not line:
        raise RuntimeError("the mock server did not start; its reason is above, on standard error")
    return int(line)

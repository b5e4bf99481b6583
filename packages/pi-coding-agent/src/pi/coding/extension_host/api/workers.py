"""A function of an extension that runs in a process of its own.

For work that may crash, hang or print on the terminal, such as a parser of a library or an
untrusted regular expression. The process is started with the first request and replaced after a
crash or a timeout.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from pi.base.errors import PiError
from pi.base.processes import BadFrame, Child

PROGRAM = Path(__file__).with_name("worker_program.py")
START_SECONDS = 20.0
"""Timeout of the start of the process; long, for machines under load."""


class Spawning(Protocol):
    """The part of ``ExtensionAPI`` that a worker uses."""

    async def spawn(self, argv: list[str], *, cwd: Path, kind: str) -> Child:
        """Start a program that ends with the extension."""


class WorkerProcess:
    """Calls one function in a child process, one request after another.

    ``function`` is ``"package.module:name"``. It gets a request and yields answers; both are JSON
    values. Its module should import little, and nothing of pi: it is imported in the process.
    """

    def __init__(self, pi: Spawning, function: str, *, kind: str = "worker") -> None:
        self._pi = pi
        self._function = function
        self._kind = kind
        self._child: Child | None = None
        self._busy = asyncio.Lock()

    async def ask(self, request: Any, *, seconds: float, answers: int = 1) -> list[Any]:
        """The answers to a request; ``seconds`` is the timeout of each.

        Returns fewer than ``answers`` if one timed out or the process crashed; then the next
        request starts another process. Raises ``PiError`` if the process does not start.
        """
        async with self._busy:
            child = await self._start()
            with suppress(ConnectionError):  # the process has ended: the read below returns None
                await child.write_frame(json.dumps(request).encode())
            received: list[Any] = []
            while (
                len(received) < answers and (frame := await self._read(child, seconds)) is not None
            ):
                received.append(json.loads(frame))
            if len(received) < answers:
                await self.stop()
            return received

    async def stop(self) -> None:
        """Kill the process; the next request starts another one."""
        child, self._child = self._child, None
        if child is not None:
            await child.terminate(grace=0)

    async def _read(self, child: Child, seconds: float) -> bytes | None:
        """The next answer; ``None`` if the process takes too long or has ended."""
        try:
            async with asyncio.timeout(seconds):
                return await child.read_frame()
        except (TimeoutError, BadFrame):
            return None
        except asyncio.CancelledError:
            await self.stop()  # a late answer would be read as the answer to the next request
            raise

    async def _start(self) -> Child:
        if self._child is None:
            # ``-I`` hides the project's modules; ``sys.path`` of pi is passed as an argument.
            command = [sys.executable, "-I", str(PROGRAM), json.dumps(sys.path), self._function]
            self._child = await self._pi.spawn(command, cwd=Path(sys.prefix), kind=self._kind)
            # The process reports its start, so that the timeout of a request does not include it.
            if await self._read(self._child, START_SECONDS) is None:
                await self.stop()
                raise PiError(f"The process for {self._function} did not start.")
        assert self._child is not None
        return self._child

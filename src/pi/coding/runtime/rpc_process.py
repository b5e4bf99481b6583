"""A ``pi --mode rpc`` that we have started: records to it, answers and events from it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

from pi.ai.messages import Json
from pi.base.errors import PiError
from pi.base.json_lines import BadLine, LineSplitter, decode_line, encode_line
from pi.base.processes import Child, spawn
from pi.base.tasks import TaskScope

log = logging.getLogger(__name__)

Hear: TypeAlias = Callable[[Json], None]
"""Told every record that answers no request."""

MOST_ERRORS = 64 * 1024
"""Bytes of standard error that are kept: its end says why a program died."""
SECONDS_TO_END = 10.0
"""How long it may take to save and end after its input was closed."""
_CHUNK = 1 << 16


class RpcServerDied(PiError):
    """The server has ended; ``hint`` is what it said last on standard error."""


class RpcRefused(PiError):
    """The server answers that it does not do what it was asked for."""


class RpcProcess:
    """One server. Requests go side by side; all that wait are refused when the server dies."""

    def __init__(self, child: Child, hear: Hear) -> None:
        self.pid = child.pid
        self._child = child
        self._hear = hear
        self._numbers = 0
        self._answers: dict[str, asyncio.Future[Json]] = {}
        self._promises: set[asyncio.Future[Any]] = set()
        self._errors = bytearray()
        self._death: RpcServerDied | None = None

    @property
    def errors(self) -> str:
        """The end of what it has written to standard error."""
        return self._errors.decode("utf-8", "replace")

    async def request(self, command: str, /, **fields: Any) -> Any:
        """The ``data`` of the answer to a command, or ``RpcRefused`` with the reason."""
        self._numbers += 1
        id = f"req_{self._numbers}"
        answer: asyncio.Future[Json] = self.promise()
        self._answers[id] = answer
        try:
            await self.send({"type": command, **fields, "id": id})
            answered = await answer
        finally:
            del self._answers[id]
        if not answered.get("success"):
            raise RpcRefused(str(answered.get("error") or f"{command} failed without a reason."))
        return answered.get("data")

    async def send(self, record: Json) -> None:
        """Send a record that is not answered, e.g. what the person said to a dialog."""
        with suppress(ConnectionError):  # whoever waits is told why when it has ended
            await self._child.write(encode_line(record))

    def promise(self) -> asyncio.Future[Any]:
        """Something to wait for that fails when the server dies; raises if it has died."""
        if self._death is not None:
            raise self._death
        promise: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._promises.add(promise)
        promise.add_done_callback(self._promises.discard)
        return promise

    async def listen(self) -> None:
        """Until the server has ended and everything that it said is heard."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._read_records())
            tasks.create_task(self._read_errors())
        end = await self._child.wait()
        how = f"by signal {end.signal}" if end.signal else f"with exit code {end.exit_code}"
        self._death = RpcServerDied(f"The RPC server has ended {how}.", hint=self.errors.strip())
        for promise in tuple(self._promises):
            promise.set_exception(self._death)

    async def end(self, listening: asyncio.Task[None]) -> None:
        """Have it save and end by itself; who comes after us kills it if it does not."""
        self._child.close_stdin()
        await asyncio.wait({listening}, timeout=SECONDS_TO_END)

    async def _read_records(self) -> None:
        splitter = LineSplitter()
        while chunk := await self._child.output.read(_CHUNK):
            for line in splitter.feed(chunk):
                self._take(line)

    async def _read_errors(self) -> None:
        while chunk := await self._child.errors.read(_CHUNK):
            self._errors += chunk
            del self._errors[:-MOST_ERRORS]

    def _take(self, line: bytes | BadLine) -> None:
        try:
            record = decode_line(line) if isinstance(line, bytes) else None
        except BadLine as problem:
            log.warning("the RPC server wrote a line that cannot be read: %s", problem)
            return
        if not isinstance(record, dict):
            return
        answer = self._answers.get(str(record.get("id")))
        if record.get("type") != "response" or answer is None:
            self._hear(record)
        elif not answer.done():
            answer.set_result(record)


@asynccontextmanager
async def rpc_process(
    command: Sequence[str], *, cwd: Path, env: Mapping[str, str], hear: Hear
) -> AsyncIterator[RpcProcess]:
    """Start a server; it ends with the block, at the latest by being killed."""
    async with (
        await spawn(command, cwd=cwd, env=env, stdin="pipe", errors="separate") as child,
        TaskScope() as tasks,
    ):
        process = RpcProcess(child, hear)
        listening = tasks.start(process.listen(), name="rpc client")
        try:
            yield process
        finally:
            await process.end(listening)

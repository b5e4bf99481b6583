"""A ``pi --mode rpc`` that we have started: records to it, answers and events from it."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

from pi.ai.messages import Json
from pi.base.errors import PiError
from pi.base.json_lines import BadLine, LineSplitter, decode_deep_line, encode_line
from pi.base.processes import Child, spawn
from pi.base.tasks import TaskScope

log = logging.getLogger(__name__)

Hear: TypeAlias = Callable[[Json], None]
"""Told every record that answers no request."""

MOST_ERRORS = 64 * 1024
"""Bytes of standard error that are kept: its end says why a program died."""
SECONDS_TO_END = 10.0
"""How long it may take to save and end after its input was closed."""
LONGEST_LINE = 1 << 30
"""Bytes; a server that writes more without a line end does not speak the protocol."""
SLOW_LINE = 1 << 16
"""Bytes from which on a line is decoded in a thread."""
_CHUNK = 1 << 16
_ID = re.compile(rb'"id"\s*:\s*"(req_\d+)"')


class RpcServerDied(PiError):
    """The server has ended; ``hint`` is what it said last on standard error."""


class RpcRefused(PiError):
    """The server answers that it does not do what it was asked for."""


class RpcUnreadable(PiError):
    """The server has answered with something that cannot be decoded."""


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
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._read_records())
                tasks.create_task(self._read_errors())
            end = await self._child.wait()
            how = f"by signal {end.signal}" if end.signal else f"with exit code {end.exit_code}"
        except BaseException:  # nobody listens from now on
            self._die("The RPC client has stopped listening.")
            raise
        self._die(f"The RPC server has ended {how}.")

    def _die(self, message: str) -> None:
        self._death = RpcServerDied(message, hint=self.errors.strip())
        for promise in tuple(self._promises):
            if not promise.done():
                promise.set_exception(self._death)

    async def end(self, listening: asyncio.Task[None]) -> None:
        """Have it save and end by itself; who comes after us kills it if it does not."""
        self._child.close_stdin()
        await asyncio.wait({listening}, timeout=SECONDS_TO_END)

    async def _read_records(self) -> None:
        splitter = LineSplitter(limit=LONGEST_LINE)
        while chunk := await self._child.output.read(_CHUNK):
            for line in splitter.feed(chunk):
                await self._take(line)

    async def _read_errors(self) -> None:
        while chunk := await self._child.errors.read(_CHUNK):
            self._errors += chunk
            del self._errors[:-MOST_ERRORS]

    async def _take(self, line: bytes | BadLine) -> None:
        try:
            if isinstance(line, BadLine):
                raise line
            if len(line) < SLOW_LINE:
                record = decode_deep_line(line)
            else:
                record = await asyncio.to_thread(decode_deep_line, line)
        except BadLine as problem:
            self._report_unreadable(problem)
            return
        if not isinstance(record, dict):
            return
        answer = self._answers.get(str(record.get("id")))
        if record.get("type") != "response" or answer is None:
            self._hear(record)
        elif not answer.done():
            answer.set_result(record)

    def _report_unreadable(self, problem: BadLine) -> None:
        """Fail the request that a line answers: it would wait for ever."""
        log.warning("the RPC server wrote a line that cannot be read: %s", problem)
        if not problem.excerpt.startswith("{"):
            return  # a program around the server has written something, as a login shell does
        found = _ID.search(problem.excerpt.encode())
        id = found[1].decode() if found else None
        # Without an id it may be the answer to any of them.
        for name, answer in self._answers.items():
            if id in (None, name) and not answer.done():
                answer.set_exception(
                    RpcUnreadable(f"The answer of the RPC server cannot be read. {problem.reason}.")
                )


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

"""Worker processes: each runs many sessions, and the driver talks to it in frames.

pi (driver) ── worker process ── session, session, …
            └─ worker process ── …

A worker is started as ``python -m pi.coding.batch.workers``. Its first frame holds the settings
(pickled: they come from the same program); all others are JSON records. What a session or an
extension prints goes to standard error, of which the driver keeps the end for its messages.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

import msgspec

from pi.base.processes import Child, spawn
from pi.base.processes.child import BadFrame
from pi.base.records import Record
from pi.base.tasks import TaskScope
from pi.base.terminal_text import one_line
from pi.coding.batch.budget import Budget
from pi.coding.batch.execution import TaskRunner, WorkerSettings
from pi.coding.batch.results import BatchResult
from pi.coding.batch.tasks import BatchTask

KEPT_ERROR_LINES = 20
_HEADER = 4


class RunTask(Record, tag="run"):
    """Run an attempt; answered by ``TaskEnded``."""

    task: BatchTask
    attempt: int


class Permission(Record, tag="permission"):
    """The answer to ``MayCall``."""

    number: int
    granted: bool


class MayCall(Record, tag="mayCall"):
    """Asks whether a model call may be made."""

    number: int


class CallEnded(Record, tag="callEnded"):
    """A model call has ended."""

    cost: float


class TaskEnded(Record, tag="ended"):
    """The result of an attempt."""

    result: BatchResult


ToWorker: TypeAlias = RunTask | Permission
ToDriver: TypeAlias = MayCall | CallEnded | TaskEnded
_TO_WORKER = msgspec.json.Decoder(ToWorker)
_TO_DRIVER = msgspec.json.Decoder(ToDriver)
_encode = msgspec.json.encode


class WorkerLost(Exception):
    """A worker process ended with unfinished tasks; the message says how."""


class WorkerPool:
    """The engine of a batch on this machine: worker processes that are replaced when they die."""

    def __init__(
        self,
        settings: WorkerSettings,
        budget: Budget,
        *,
        workers: int,
        per_worker: int,
        cwd: Path,
        environ: Mapping[str, str],
    ) -> None:
        self.capacity = workers * per_worker
        self._settings = pickle.dumps(settings)
        self._budget = budget
        self._per_worker = per_worker
        self._places: list[_Worker | None] = [None] * workers
        self._cwd = cwd
        self._environ = environ
        self._starting = asyncio.Lock()

    async def run(self, task: BatchTask, attempt: int) -> BatchResult:
        """Run an attempt in a worker that has room; raises ``WorkerLost``."""
        async with self._starting:
            worker = await self._free()
            worker.load += 1
        try:
            return await worker.run(task, attempt)
        finally:
            worker.load -= 1

    async def close(self) -> None:
        """End all workers, with everything that they have started."""
        workers = [worker for worker in self._places if worker is not None]
        self._places = [None] * len(self._places)
        await asyncio.gather(*(worker.close() for worker in workers))

    async def _free(self) -> _Worker:
        """Return the least busy worker; one that does not run is started."""
        for place, worker in enumerate(self._places):
            if worker is not None and worker.is_lost:
                await worker.close()
                self._places[place] = worker = None
        place = min(range(len(self._places)), key=self._load)
        if (worker := self._places[place]) is None:
            child = await spawn(
                [sys.executable, "-m", "pi.coding.batch.workers"],
                cwd=self._cwd,
                env=self._environ,
                stdin="pipe",
                errors="separate",
            )
            worker = _Worker(child, self._budget)
            self._places[place] = worker
            await worker.begin(self._settings)
        return worker

    def _load(self, place: int) -> int:
        worker = self._places[place]
        return 0 if worker is None else worker.load


class _Worker:
    """The driver's side of one worker process."""

    def __init__(self, child: Child, budget: Budget) -> None:
        self._child = child
        self._budget = budget
        self._tasks = TaskScope()
        self._ended: dict[tuple[str, int], asyncio.Future[BatchResult]] = {}
        self._errors: deque[str] = deque(maxlen=KEPT_ERROR_LINES)
        self.load = 0
        self.is_lost = False

    async def begin(self, settings: bytes) -> None:
        """Send the settings and start to listen."""
        self._tasks.start(self._listen(), name="batch worker")
        self._tasks.start(self._read_errors(), name="errors of a batch worker")
        await self._send(settings)

    async def run(self, task: BatchTask, attempt: int) -> BatchResult:
        """Run an attempt; raises ``WorkerLost``."""
        key = task.id, attempt
        ended: asyncio.Future[BatchResult] = asyncio.get_running_loop().create_future()
        self._ended[key] = ended
        try:
            await self._send(_encode(RunTask(task=task, attempt=attempt)))
            return await ended
        finally:
            self._ended.pop(key, None)

    async def close(self) -> None:
        """End the process."""
        await self._child.terminate(grace=5.0)
        await self._child.__aexit__(None)
        await self._tasks.close()

    async def _send(self, data: bytes) -> None:
        try:
            await self._child.write_frame(data)
        except ConnectionError as error:
            raise WorkerLost(await self._reason()) from error

    async def _listen(self) -> None:
        try:
            with suppress(BadFrame, msgspec.MsgspecError):  # killed while it wrote
                while (frame := await self._child.read_frame()) is not None:
                    self._receive(_TO_DRIVER.decode(frame))
            self._child.close_stdin()
        finally:
            self.is_lost = True
            self._budget.drop(self)
        reason = await self._reason()
        for ended in self._ended.values():
            if not ended.done():
                ended.set_exception(WorkerLost(reason))

    def _receive(self, message: ToDriver) -> None:
        match message:
            case MayCall(number=number):
                self._tasks.start(self._permit(number), name="permission for a model call")
            case CallEnded(cost=cost):
                self._budget.settle(self, cost)
            case TaskEnded(result=result):
                ended = self._ended.get((result.id, result.attempt))
                if ended is not None and not ended.done():
                    ended.set_result(result)

    async def _permit(self, number: int) -> None:
        granted = await self._budget.ask(self)
        with suppress(ConnectionError):  # it has ended; ``_listen`` reports it
            await self._child.write_frame(_encode(Permission(number=number, granted=granted)))

    async def _read_errors(self) -> None:
        async for line in self._child.errors:
            self._errors.append(one_line(line.decode("utf-8", "replace")))

    async def _reason(self) -> str:
        end = await self._child.wait()
        how = f"exit code {end.exit_code}" if end.signal is None else f"signal {end.signal}"
        last = f": {self._errors[-1]}" if self._errors else ""
        return f"The worker process ended ({how}){last}"


# In the worker ------------------------------------------------------------------------------------


class _PipeGate:
    """Asks the driver before each model call."""

    def __init__(self, output: int) -> None:
        self._output = output
        self._waiting: dict[int, asyncio.Future[bool]] = {}
        self._number = 0

    async def ask(self) -> bool:
        """Whether the call may be made."""
        self._number += 1
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting[self._number] = answer
        write_frame(self._output, _encode(MayCall(number=self._number)))
        return await answer

    def settle(self, cost: float) -> None:
        """Report what the call has cost."""
        write_frame(self._output, _encode(CallEnded(cost=cost)))

    def answer(self, permission: Permission) -> None:
        """Pass an answer of the driver on."""
        waiting = self._waiting.pop(permission.number, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(permission.granted)


def write_frame(file: int, data: bytes) -> None:
    """Write a frame; blocks until the driver has read enough, which never waits for us."""
    rest = memoryview(len(data).to_bytes(_HEADER, "big") + data)
    while rest:
        rest = rest[os.write(file, rest) :]


async def serve(output: int, environ: Mapping[str, str]) -> None:
    """Run the attempts that arrive on standard input until it ends."""
    reader = asyncio.StreamReader(limit=2**30)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)

    async def frame() -> bytes:
        return await reader.readexactly(int.from_bytes(await reader.readexactly(_HEADER), "big"))

    runner = TaskRunner(pickle.loads(await frame()), environ)
    gate = _PipeGate(output)

    async def run(request: RunTask) -> None:
        result = await runner.run(request.task, request.attempt, gate)
        write_frame(output, _encode(TaskEnded(result=result)))

    async with TaskScope() as tasks:
        try:
            while True:
                match _TO_WORKER.decode(await frame()):
                    case RunTask() as request:
                        tasks.start(run(request), name=f"task {request.task.id}")
                    case Permission() as permission:
                        gate.answer(permission)
        except asyncio.IncompleteReadError:
            return  # the driver has ended


def main() -> None:
    """The worker process."""
    output = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    asyncio.run(serve(output, dict(os.environ)))


if __name__ == "__main__":
    main()

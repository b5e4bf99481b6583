"""Worker processes: each runs many sessions and exchanges frames with the driver.

pi (driver) ── worker process ── session, session, …
            └─ worker process ── …

``main`` is the program of a worker. The first frame on its standard input holds the settings
(pickled: they come from the same program); all others, in both directions, are JSON records. The
output of sessions and extensions goes to standard error; the driver keeps its last lines for error
messages.
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
from pi.batch.budget import Budget
from pi.batch.execution import TaskRunner, WorkerSettings
from pi.batch.results import BatchResult
from pi.batch.tasks import BatchProblem, BatchTask

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
    """Requests permission for a model call; answered by ``Permission``."""

    number: int


class CallEnded(Record, tag="callEnded"):
    """A model call of an attempt has ended, or was not made although it was permitted."""

    id: str
    attempt: int
    cost: float | None


class Ready(Record, tag="ready"):
    """The worker has received its settings."""


class TaskEnded(Record, tag="ended"):
    """The result of an attempt."""

    result: BatchResult


ToWorker: TypeAlias = RunTask | Permission
ToDriver: TypeAlias = MayCall | CallEnded | TaskEnded | Ready
_TO_WORKER = msgspec.json.Decoder(ToWorker)
_encode = msgspec.json.encode


class _PipeGate:
    """Requests permissions from the driver; shared by all attempts of a worker."""

    def __init__(self, output: int) -> None:
        self._output = output
        self._waiting: dict[int, asyncio.Future[bool]] = {}
        self._number = 0

    async def ask(self, id: str, attempt: int) -> bool:
        """Whether the call may be made."""
        self._number += 1
        number = self._number
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        write_frame(self._output, _encode(MayCall(number=number)))
        try:
            return await answer
        except asyncio.CancelledError:
            if answer.done() and not answer.cancelled() and answer.result():
                self.settle(id, attempt, None)  # permitted while it was cancelled
            raise

    def settle(self, id: str, attempt: int, cost: float | None) -> None:
        """Report what the call has cost."""
        write_frame(self._output, _encode(CallEnded(id=id, attempt=attempt, cost=cost)))

    def answer(self, permission: Permission) -> None:
        """Forward a permission to its request; settle one whose request was cancelled."""
        waiting = self._waiting.pop(permission.number, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(permission.granted)
        elif permission.granted:
            self.settle("", 0, None)


class _TaskGate:
    """The gate of one attempt."""

    def __init__(self, pipe: _PipeGate, id: str, attempt: int) -> None:
        self._pipe = pipe
        self._id = id
        self._attempt = attempt

    async def ask(self) -> bool:
        """Whether the call may be made."""
        return await self._pipe.ask(self._id, self._attempt)

    def settle(self, cost: float | None) -> None:
        """Report what the call has cost."""
        self._pipe.settle(self._id, self._attempt, cost)


def write_frame(file: int, data: bytes) -> None:
    """Write a frame. Blocks until the driver has read enough; the driver never waits for us."""
    rest = memoryview(len(data).to_bytes(_HEADER, "big") + data)
    while rest:
        rest = rest[os.write(file, rest) :]


async def serve(output: int, environ: Mapping[str, str]) -> None:
    """Run the attempts that arrive on standard input until it is closed."""
    reader = asyncio.StreamReader(limit=2**30)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)

    async def frame() -> bytes:
        return await reader.readexactly(int.from_bytes(await reader.readexactly(_HEADER), "big"))

    runner = TaskRunner(pickle.loads(await frame()), environ)
    gate = _PipeGate(output)
    write_frame(output, _encode(Ready()))

    async def run(request: RunTask) -> None:
        own = _TaskGate(gate, request.task.id, request.attempt)
        result = await runner.run(request.task, request.attempt, own)
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
    """Run a worker process."""
    output = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    asyncio.run(serve(output, dict(os.environ)))


_PROGRAM = f"from {__name__} import main; main()"
"""Not ``-m``: the module would be loaded twice, as ``__main__`` and under its name."""


MAX_ERROR_LINES = 20
MAX_FAILED_STARTS = 3
"""Consecutive workers that may end before they are ready; then no more are started."""
OVERTIME_SECONDS = 120.0
"""Time after the timeout of a task to write its patch; then the worker is killed as blocked."""
CLOSE_SECONDS = 10.0
"""Time for the sessions of a worker to end and remove their folders."""


_TO_DRIVER = msgspec.json.Decoder(ToDriver)


class WorkerLost(Exception):
    """A worker ended with unfinished tasks; the message has the exit code or signal."""

    def __init__(self, reason: str, *, cost: float = 0.0) -> None:
        super().__init__(reason)
        self.cost = cost
        """Cost of the attempt's calls so far, in US dollars."""


def pickled(settings: WorkerSettings) -> bytes:
    """Return the pickled settings; raises ``BatchProblem`` if they cannot be pickled."""
    try:
        return pickle.dumps(settings)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise BatchProblem(
            f"The options of the sessions cannot be sent to another process: {error}.",
            hint="Use BatchOptions(workers=0), or functions that can be imported.",
        ) from error


class WorkerPool:
    """Engine with worker processes on this machine; a process that dies is replaced."""

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
        self._settings = pickled(settings)
        seconds = settings.limits.seconds
        self._watchdog = None if seconds is None else seconds + OVERTIME_SECONDS
        self._budget = budget
        self._slots: list[_Worker | None] = [None] * workers
        self._cwd = cwd
        self._environ = environ
        self._starting = asyncio.Lock()

    async def run(self, task: BatchTask, attempt: int) -> BatchResult:
        """Run an attempt in the least busy worker; raises ``WorkerLost``."""
        async with self._starting:
            worker = await self._least_busy_worker()
            worker.load += 1
        try:
            async with asyncio.timeout(self._watchdog):
                return await worker.run(task, attempt)
        except TimeoutError as error:
            await worker.kill()
            raise WorkerLost("The worker process did not end the task in time.") from error
        finally:
            worker.load -= 1

    async def close(self) -> None:
        """End all workers and their child processes."""
        workers = [worker for worker in self._slots if worker is not None]
        self._slots = [None] * len(self._slots)
        await asyncio.gather(*(worker.close() for worker in workers))

    async def _least_busy_worker(self) -> _Worker:
        """Return the least busy worker; starts it if it does not run."""
        for slot, worker in enumerate(self._slots):
            if worker is not None and worker.is_lost:
                self._slots[slot] = None
                await worker.close()
        slot = min(range(len(self._slots)), key=self._load)
        if (worker := self._slots[slot]) is not None:
            return worker
        for _ in range(MAX_FAILED_STARTS):
            child = await spawn(
                [sys.executable, "-c", _PROGRAM],
                cwd=self._cwd,
                env=self._environ,
                stdin="pipe",
                errors="separate",
            )
            self._slots[slot] = started = _Worker(child, self._budget)
            try:
                await started.begin(self._settings)
                return started
            except WorkerLost as lost:
                self._slots[slot] = None
                await started.close()
                reason = str(lost)
        raise BatchProblem(f"Worker processes cannot start. {reason}")

    def _load(self, slot: int) -> int:
        worker = self._slots[slot]
        return 0 if worker is None else worker.load


class _Worker:
    """The driver's side of one worker process."""

    def __init__(self, child: Child, budget: Budget) -> None:
        self._child = child
        self._budget = budget
        self._tasks = TaskScope()
        self._ended: dict[tuple[str, int], asyncio.Future[BatchResult]] = {}
        self._costs: dict[tuple[str, int], float] = {}
        self._errors: deque[str] = deque(maxlen=MAX_ERROR_LINES)
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._end: str | None = None
        """How the process ended; the error message of its unfinished tasks."""
        self.load = 0
        self.is_lost = False

    async def begin(self, settings: bytes) -> None:
        """Send the settings and wait until the worker is ready; raises ``WorkerLost``."""
        self._tasks.start(self._listen(), name="batch worker")
        self._tasks.start(self._read_errors(), name="errors of a batch worker")
        await self._send(settings)
        await self._ready

    async def run(self, task: BatchTask, attempt: int) -> BatchResult:
        """Run an attempt; raises ``WorkerLost``."""
        key = task.id, attempt
        ended: asyncio.Future[BatchResult] = asyncio.get_running_loop().create_future()
        self._ended[key] = ended
        try:
            await self._send(_encode(RunTask(task=task, attempt=attempt)))
            if self._end is not None and not ended.done():  # nothing listens any more
                raise WorkerLost(self._end)
            return await ended
        except WorkerLost as lost:
            lost.cost = self._costs.get(key, 0.0)
            raise
        finally:
            self._ended.pop(key, None)
            self._costs.pop(key, None)

    async def kill(self) -> None:
        """End the process at once, although tasks run in it."""
        self.is_lost = True
        await self._child.terminate(grace=0.0)

    async def close(self) -> None:
        """End the process; its tasks are cancelled and remove their folders first."""
        self._child.close_stdin()
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._child.wait()
        await self._child.terminate()
        await self._child.__aexit__(None)
        await self._tasks.close()

    async def _send(self, data: bytes) -> None:
        try:
            await self._child.write_frame(data)
        except ConnectionError as error:
            raise WorkerLost(await self._reason()) from error

    async def _listen(self) -> None:
        try:
            with suppress(BadFrame, msgspec.MsgspecError):  # the worker was killed while writing
                while (frame := await self._child.read_frame()) is not None:
                    self._receive(_TO_DRIVER.decode(frame))
        finally:
            self.is_lost = True
            self._budget.drop(self)
        await self._child.terminate()  # after an invalid frame it may still run
        self._end = await self._reason()
        if not self._ready.done():
            self._ready.set_exception(WorkerLost(self._end))
            self._ready.exception()  # nothing awaits it if the settings could not be sent
        for ended in self._ended.values():
            if not ended.done():
                ended.set_exception(WorkerLost(self._end))

    def _receive(self, message: ToDriver) -> None:
        match message:
            case Ready():
                if not self._ready.done():
                    self._ready.set_result(None)
            case MayCall(number=number):
                self._tasks.start(self._permit(number), name="permission for a model call")
            case CallEnded(id=id, attempt=attempt, cost=cost):
                if cost and (id, attempt) in self._ended:
                    self._costs[id, attempt] = self._costs.get((id, attempt), 0.0) + cost
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
        with suppress(ValueError):  # a line longer than the buffer
            async for line in self._child.errors:
                self._errors.append(one_line(line.decode("utf-8", "replace"))[:500])
        while await self._child.errors.read(65536):
            pass  # a full pipe would block the worker

    async def _reason(self) -> str:
        end = await self._child.wait()
        status = f"exit code {end.exit_code}" if end.signal is None else f"signal {end.signal}"
        last = f": {self._errors[-1]}" if self._errors else "."
        return f"The worker process ended ({status}){last}"

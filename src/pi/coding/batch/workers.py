"""Worker processes: each runs many sessions, and the driver talks to it in frames.

pi (driver) ── worker process ── session, session, …
            └─ worker process ── …

``worker_process`` is the program of a worker, and has the records of the frames. What a session or
an extension prints goes to standard error, of which the driver keeps the end for its messages.
"""

from __future__ import annotations

import asyncio
import pickle
import sys
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from pi.base.processes import Child, spawn
from pi.base.processes.child import BadFrame
from pi.base.tasks import TaskScope
from pi.base.terminal_text import one_line
from pi.coding.batch.budget import Budget
from pi.coding.batch.execution import WorkerSettings
from pi.coding.batch.results import BatchResult
from pi.coding.batch.tasks import BatchProblem, BatchTask
from pi.coding.batch.worker_process import (
    CallEnded,
    MayCall,
    Permission,
    Ready,
    RunTask,
    TaskEnded,
    ToDriver,
)

KEPT_ERROR_LINES = 20
MAX_FAILED_STARTS = 3
"""Workers in a row that end before they are ready: then the fault is not in a task."""
OVERTIME_SECONDS = 120.0
"""After the timeout of a task, for its patch; then its worker is taken for blocked and killed."""
CLOSE_SECONDS = 10.0
"""For the sessions of a worker to end and remove their folders."""


_TO_DRIVER = msgspec.json.Decoder(ToDriver)
_encode = msgspec.json.encode


class WorkerLost(Exception):
    """A worker ended with unfinished tasks; the message says how."""

    def __init__(self, reason: str, *, cost: float = 0.0) -> None:
        super().__init__(reason)
        self.cost = cost
        """What the calls of the attempt have cost by then."""


def pickled(settings: WorkerSettings) -> bytes:
    """Return the settings for another process; raises ``BatchProblem`` for functions in them."""
    try:
        return pickle.dumps(settings)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise BatchProblem(
            f"The options of the sessions cannot be sent to another process: {error}.",
            hint="Use BatchOptions(workers=0), or functions that can be imported.",
        ) from error


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
        self._settings = pickled(settings)
        seconds = settings.limits.seconds
        self._watchdog = None if seconds is None else seconds + OVERTIME_SECONDS
        self._budget = budget
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
            async with asyncio.timeout(self._watchdog):
                return await worker.run(task, attempt)
        except TimeoutError as error:
            await worker.kill()
            raise WorkerLost("The worker process did not end the task in time.") from error
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
                self._places[place] = None
                await worker.close()
        place = min(range(len(self._places)), key=self._load)
        if (worker := self._places[place]) is not None:
            return worker
        for _ in range(MAX_FAILED_STARTS):
            child = await spawn(
                [sys.executable, "-m", "pi.coding.batch.worker_process"],
                cwd=self._cwd,
                env=self._environ,
                stdin="pipe",
                errors="separate",
            )
            self._places[place] = started = _Worker(child, self._budget)
            try:
                await started.begin(self._settings)
                return started
            except WorkerLost as lost:
                self._places[place] = None
                await started.close()
                reason = str(lost)
        raise BatchProblem(f"Worker processes cannot start. {reason}")

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
        self._costs: dict[tuple[str, int], float] = {}
        self._errors: deque[str] = deque(maxlen=KEPT_ERROR_LINES)
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._end: str | None = None
        """How the process ended; its tasks are failed with it."""
        self.load = 0
        self.is_lost = False

    async def begin(self, settings: bytes) -> None:
        """Send the settings and wait until the worker has them; raises ``WorkerLost``."""
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
            with suppress(BadFrame, msgspec.MsgspecError):  # killed while it wrote
                while (frame := await self._child.read_frame()) is not None:
                    self._receive(_TO_DRIVER.decode(frame))
        finally:
            self.is_lost = True
            self._budget.drop(self)
        await self._child.terminate()  # it may be alive behind output that cannot be read
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
        how = f"exit code {end.exit_code}" if end.signal is None else f"signal {end.signal}"
        last = f": {self._errors[-1]}" if self._errors else "."
        return f"The worker process ended ({how}){last}"

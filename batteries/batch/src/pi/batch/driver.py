"""Runs a batch: a queue of tasks, retries, the budget, and one row per attempt on the disk."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import ExitStack, aclosing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, Unpack

from pi.base.records import Record
from pi.base.tasks import finish_despite_cancel
from pi.batch.budget import Budget, LocalGate
from pi.batch.execution import (
    Isolation,
    TaskLimits,
    TaskRunner,
    WorkerSettings,
    agent_dir_of,
)
from pi.batch.results import (
    BatchFolder,
    BatchManifest,
    BatchResult,
    attempts,
    latest,
)
from pi.batch.tasks import BatchTask, check_tasks, file_names
from pi.batch.workers import WorkerLost, WorkerPool
from pi.coding.files.clones import REPOSITORIES
from pi.coding.files.working_copies import sweep_working_copies
from pi.coding.runtime.embedding import AgentSessionOptions
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.options import SessionOptions
from pi.coding.runtime.workspace import own_settings
from pi.version import __version__

Redo: TypeAlias = Literal["failed", "all"]
RETRIED = frozenset({"error", "timeout"})
"""Statuses after which a task is retried. A failed check is a result and not retried."""
PER_WORKER = 8


class BatchOptions(Record):
    """Options of a batch."""

    workers: int | None = None
    """Worker processes: by default one per processor; 0 runs all sessions in this process."""
    per_worker: int = PER_WORKER
    """Sessions at a time in each worker."""
    retries: int = 2
    """Further attempts after an error, a timeout or a lost worker."""
    limits: TaskLimits = TaskLimits()
    budget: float | None = None
    """The most that all tasks may cost together, in US dollars, including earlier runs."""
    isolation: Isolation = "auto"
    redo: Redo | None = None
    """The tasks of an earlier run that are run again; ``None``: those without a settled result."""
    ray: str | None = None
    """The address of a Ray cluster, or ``local``."""


DEFAULTS = BatchOptions()


class Engine(Protocol):
    """Runs attempts: in this process, in worker processes or in Ray actors."""

    capacity: int
    """The number of attempts that may run at a time."""

    async def run(self, task: BatchTask, attempt: int) -> BatchResult:
        """Run an attempt; raises ``WorkerLost``."""

    async def close(self) -> None:
        """End all running attempts and workers."""


class _OwnProcess:
    """Runs the sessions in this process."""

    def __init__(self, settings: WorkerSettings, budget: Budget, per_worker: int) -> None:
        self.capacity = per_worker
        self._runner = TaskRunner(settings, dict(os.environ))
        self._gate = LocalGate(budget)

    async def run(self, task: BatchTask, attempt: int) -> BatchResult:
        """Run an attempt."""
        return await self._runner.run(task, attempt, self._gate)

    async def close(self) -> None:
        """Do nothing: cancelled sessions close themselves."""


async def run_batch(
    tasks: Iterable[BatchTask | Mapping[str, Any]],
    *,
    output: Path | str | None = None,
    batch: BatchOptions = DEFAULTS,
    **options: Unpack[AgentSessionOptions],
) -> AsyncIterator[BatchResult]:
    """Run tasks, each in a session of its own; yields every attempt that has ended.

    With ``output`` all results are kept in that folder, and tasks with a settled result in it are
    not run again. ``options`` are those of ``create_agent_session``; they must be picklable unless
    ``BatchOptions(workers=0)`` is used.

    >>> async for result in run_batch([{"id": "a", "prompt": "Fix the test", "cwd": "repo"}]):
    ...     print(result.id, result.status, result.cost)
    """
    batch_tasks = check_tasks(tasks)
    folder = None if output is None else BatchFolder(Path(output).absolute())
    with ExitStack() as stack:
        if folder is not None:
            stack.enter_context(folder)
            stamp = datetime.now(UTC).isoformat(timespec="seconds")
            folder.write_request(BatchManifest(pi=__version__, started=stamp), batch_tasks)
            work = folder.path / "work"
        else:
            work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pi-batch-")))
        run = BatchRun(batch_tasks, folder, batch, options, work=work)
        async with aclosing(run.results()) as results:
            async for result in results:
                yield result


class BatchRun:
    """One run of a batch, in an open folder or without a folder."""

    def __init__(
        self,
        tasks: Sequence[BatchTask],
        folder: BatchFolder | None,
        batch: BatchOptions,
        options: AgentSessionOptions,
        *,
        work: Path,
        names: Mapping[str, str] | None = None,
    ) -> None:
        """``names`` are file names of ids; by default those of ``file_names``."""
        self._folder = folder
        self._batch = batch
        before = [] if folder is None else folder.results()
        self._attempts = attempts(before)
        done = latest(before)
        self.tasks = [task for task in tasks if self._is_open(done.get(task.id))]
        self.skipped = len(tasks) - len(self.tasks)
        self.budget = Budget(
            batch.budget,
            spent=0.0 if folder is None else folder.spent(),
            record=None if folder is None else folder.note_spent,
        )
        self.was_stopped = False
        """Whether the budget ended the run before all tasks had their attempts."""
        self._settings = WorkerSettings(
            options=options,
            folder=None if folder is None else folder.path,
            work=work,
            isolation=batch.isolation,
            limits=batch.limits,
            names=file_names(task.id for task in tasks) if names is None else names,
        )

    def _is_open(self, row: BatchResult | None) -> bool:
        """Whether a task is to be run."""
        if row is None or self._batch.redo == "all":
            return True
        if self._batch.redo == "failed":
            return row.status != "done"
        return not row.is_settled

    async def results(self) -> AsyncGenerator[BatchResult, None]:
        """Run the tasks; yields each attempt after its row is on the disk."""
        self._check_settings()
        await self._sweep()
        queue = deque((task, 1) for task in self.tasks)
        outcomes: asyncio.Queue[BatchResult | BaseException] = asyncio.Queue()
        engine = self._start_engine()
        running: set[asyncio.Task[None]] = set()
        pending = 0
        try:
            while queue or pending:
                while queue and pending < engine.capacity and not self.budget.is_spent:
                    task, number = queue.popleft()
                    work = self._run_attempt(engine, task, number, queue, outcomes)
                    started = asyncio.create_task(work, name=f"batch task {task.id}")
                    running.add(started)
                    started.add_done_callback(running.discard)
                    pending += 1
                if not pending:
                    break  # the budget is spent
                for result in await self._save([await outcomes.get()], outcomes):
                    pending -= 1
                    self.was_stopped |= result.status == "stopped"
                    yield result
            self.was_stopped |= bool(queue)
        finally:
            for started in running:
                started.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            await engine.close()
            with suppress(Exception):  # the first error is the one to report
                await self._save([], outcomes)

    def _check_settings(self) -> None:
        """Raise ``BadSettings`` before the first task if no task could start."""
        options = self._settings.options
        if options.get("settings") is None:
            environ = options.get("environ") or os.environ
            machine = Machine.from_environ(environ, agent_dir=agent_dir_of(options))
            own_settings(machine, SessionOptions())

    async def _sweep(self) -> None:
        """Remove the folders that a killed run has left. Safe: this run holds the batch's lock."""
        work = self._settings.work
        if not work.is_dir():
            return
        await sweep_working_copies(work, environ=os.environ, discard=True)
        for leftover in work.iterdir():
            if leftover.name != REPOSITORIES:
                await asyncio.to_thread(shutil.rmtree, leftover, ignore_errors=True)

    async def _run_attempt(
        self,
        engine: Engine,
        task: BatchTask,
        number: int,
        queue: deque[tuple[BatchTask, int]],
        outcomes: asyncio.Queue[BatchResult | BaseException],
    ) -> None:
        """Run one attempt; queue the task again after an error that a retry may solve."""
        attempt = self._attempts[task.id] = self._attempts.get(task.id, 0) + 1
        try:
            result = await engine.run(task, attempt)
        except WorkerLost as lost:
            result = BatchResult(
                id=task.id, status="error", attempt=attempt, error=str(lost), cost=lost.cost
            )
        except Exception as error:  # the batch cannot go on: the driver raises it
            outcomes.put_nowait(error)
            return
        if result.status in RETRIED and not result.is_final and number <= self._batch.retries:
            # Not at once, as the cause may last, and not after all other tasks.
            queue.insert(engine.capacity, (task, number + 1))
        outcomes.put_nowait(result)

    async def _save(
        self,
        arrived: list[BatchResult | BaseException],
        outcomes: asyncio.Queue[BatchResult | BaseException],
    ) -> list[BatchResult]:
        """Save these results, and all others that have arrived, with one flush."""
        while not outcomes.empty():
            arrived.append(outcomes.get_nowait())
        rows = [outcome for outcome in arrived if isinstance(outcome, BatchResult)]
        if rows and self._folder is not None:
            # Completed even when cancelled: after a cancellation the folder is closed.
            await finish_despite_cancel(asyncio.to_thread(self._folder.append, rows))
        for outcome in arrived:
            if isinstance(outcome, BaseException):
                raise outcome
        return rows

    def _start_engine(self) -> Engine:
        batch, environ = self._batch, dict(os.environ)
        workers = batch.workers
        if batch.ray is not None:
            from pi.batch.ray_engine import RayEngine  # deferred: an optional dependency

            return RayEngine(
                self._settings, self.budget, workers=workers, per_worker=batch.per_worker,
                address=batch.ray, environ=environ,
            )  # fmt: skip
        if workers is None:  # Windows has no pipes that an event loop of a worker can read
            workers = 0 if sys.platform == "win32" else os.cpu_count() or 1
        if workers == 0:
            return _OwnProcess(self._settings, self.budget, batch.per_worker)
        size = max(1, len(self.tasks))
        per_worker = min(batch.per_worker, size)
        return WorkerPool(
            self._settings, self.budget, workers=min(workers, size), per_worker=per_worker,
            cwd=Path.cwd(), environ=environ,
        )  # fmt: skip

"""Ray actors as workers: the engine of a batch on a cluster.

Actor calls are at-most-once, and an error may follow a success: the driver retries by id and
attempt, as with worker processes. All nodes must share the file system of the batch's folder.
"""

from __future__ import annotations

import asyncio
import os
import pickle
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from pi.coding.batch.budget import Budget
from pi.coding.batch.execution import TaskRunner, WorkerSettings
from pi.coding.batch.results import BatchResult
from pi.coding.batch.tasks import BatchProblem, BatchTask
from pi.coding.batch.workers import WorkerLost

LOOPBACK = frozenset({"", "localhost", "127.0.0.1", "::1"})
CONNECT_SECONDS = 60.0


def check_address(address: str, environ: Mapping[str, str]) -> None:
    """Refuse a cluster elsewhere without authentication: whoever reaches its ports runs code."""
    host = urlsplit(address if "//" in address else f"//{address}").hostname or ""
    if address in ("local", "auto") or host in LOOPBACK:
        return
    if environ.get("RAY_AUTH_MODE") != "token":
        raise BatchProblem(
            f"The Ray cluster {address} is not on this machine and has no authentication.",
            hint="Start it and pi with RAY_AUTH_MODE=token.",
        )


class RayEngine:
    """Runs attempts in Ray actors; an actor that was lost is replaced."""

    def __init__(
        self,
        settings: WorkerSettings,
        budget: Budget,
        *,
        workers: int,
        per_worker: int,
        address: str,
        environ: Mapping[str, str],
    ) -> None:
        check_address(address, environ)
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray  # deferred: an optional dependency of 260 MB
        except ImportError as error:
            raise BatchProblem(
                "--ray needs the package ray.", hint="pip install 'pi-harness[ray]'"
            ) from error
        self.capacity = workers * per_worker
        self._ray = ray
        self._settings = pickle.dumps(settings)
        self._per_worker = per_worker
        self._environ = dict(environ)
        self._actors: list[Any] = [None] * workers
        self._loads = [0] * workers
        self._budget = budget
        self._gate: Any = None
        self._was_running = ray.is_initialized()
        try:
            if not self._was_running:
                ray.init(
                    address=None if address == "local" else address,
                    include_dashboard=False,
                    log_to_driver=False,
                    logging_level="ERROR",
                    configure_logging=False,
                )
        except Exception as error:  # Ray raises many kinds
            raise BatchProblem(
                f"Cannot reach the Ray cluster {address}: {error}",
                hint="`ray status` shows whether it runs; `--ray local` starts one here.",
            ) from error

    async def run(self, task: BatchTask, attempt: int) -> BatchResult:
        """Run an attempt in the least busy actor; raises ``WorkerLost``."""
        place = min(range(len(self._actors)), key=self._loads.__getitem__)
        actor = self._actor(place)
        self._loads[place] += 1
        try:
            result: BatchResult = await asyncio.wrap_future(
                actor.run.remote(task, attempt).future()
            )
            return result
        except self._ray.exceptions.RayError as error:
            if self._actors[place] is actor:
                self._actors[place] = None
            await asyncio.wrap_future(self._gate.drop.remote(str(place)).future())
            raise WorkerLost(f"A Ray worker was lost: {type(error).__name__}") from error
        finally:
            self._loads[place] -= 1
            self._budget.spent = await asyncio.wrap_future(self._gate.spent.remote().future())

    async def close(self) -> None:
        """End the actors, and Ray if it was started here."""
        for actor in [*self._actors, self._gate]:
            if actor is not None:
                self._ray.kill(actor)
        if not self._was_running:
            await asyncio.to_thread(self._ray.shutdown)

    def _actor(self, place: int) -> Any:
        if self._gate is None:
            gate = self._ray.remote(num_cpus=0, max_concurrency=10_000)(_BudgetActor)
            self._gate = gate.remote(self._budget.limit, self._budget.spent)
        if self._actors[place] is None:
            kind = self._ray.remote(num_cpus=1, max_concurrency=self._per_worker)(_WorkerActor)
            self._actors[place] = kind.remote(self._settings, self._environ, self._gate, str(place))
        return self._actors[place]


class _BudgetActor:
    """The budget of the batch, asked by all actors."""

    def __init__(self, limit: float | None, spent: float) -> None:
        self._budget = Budget(limit, spent=spent)

    async def ask(self, worker: str) -> bool:
        """Whether a call may be made."""
        return await self._budget.ask(worker)

    async def settle(self, worker: str, cost: float) -> None:
        """Count a call that has ended."""
        self._budget.settle(worker, cost)

    async def drop(self, worker: str) -> None:
        """Forget the calls of an actor that was lost."""
        self._budget.drop(worker)

    async def spent(self) -> float:
        """Return what was spent so far."""
        return self._budget.spent


class _RemoteGate:
    """Asks the budget actor before each model call."""

    def __init__(self, budget: Any, worker: str) -> None:
        self._budget = budget
        self._worker = worker

    async def ask(self) -> bool:
        """Whether the call may be made."""
        granted: bool = await self._budget.ask.remote(self._worker)
        return granted

    def settle(self, cost: float) -> None:
        """Report what the call has cost."""
        self._budget.settle.remote(self._worker, cost)


class _WorkerActor:
    """Runs attempts; async, so that one actor has many sessions."""

    def __init__(
        self, settings: bytes, environ: Mapping[str, str], budget: Any, worker: str
    ) -> None:
        os.environ.update(environ)
        self._runner = TaskRunner(pickle.loads(settings), dict(environ))
        self._gate = _RemoteGate(budget, worker)

    async def run(self, task: BatchTask, attempt: int) -> BatchResult:
        """Run one attempt."""
        return await self._runner.run(task, attempt, self._gate)

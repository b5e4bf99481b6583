"""Ray actors as workers: the engine of a batch on a cluster.

Actor calls are at-most-once, and may fail although the attempt succeeded: the driver retries by id
and attempt, as with worker processes. All nodes must share the file system of the batch's folder.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import socket
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from pi.base.installation import install_hint
from pi.base.tasks import Notifier, TaskScope
from pi.batch.budget import Budget
from pi.batch.execution import TaskRunner, WorkerSettings
from pi.batch.results import BatchResult
from pi.batch.tasks import BatchProblem, BatchTask
from pi.batch.workers import MAX_FAILED_STARTS, WorkerLost, pickled

LOOPBACK = frozenset({"", "localhost", "127.0.0.1", "::1"})
CONNECT_SECONDS = 10.0
DEFAULT_PORT = 6379


def check_address(address: str, environ: Mapping[str, str]) -> None:
    """Raise ``BatchProblem`` for a remote cluster without authentication: it runs anyone's code."""
    host = urlsplit(address if "//" in address else f"//{address}").hostname or ""
    if address in ("local", "auto") or host in LOOPBACK:
        return
    if environ.get("RAY_AUTH_MODE") != "token":
        raise BatchProblem(
            f"The Ray cluster {address} is not on a loopback address and has no authentication.",
            hint="Start it and pi with RAY_AUTH_MODE=token.",
        )


def check_reachable(address: str) -> None:
    """Raise ``BatchProblem`` if no server listens there; Ray itself would retry for a minute."""
    target = urlsplit(address if "//" in address else f"//{address}")
    if address in ("local", "auto") or not target.hostname:
        return
    try:
        port = target.port or DEFAULT_PORT
        socket.create_connection((target.hostname, port), timeout=CONNECT_SECONDS).close()
    except (OSError, ValueError) as error:
        raise _unreachable(address, error) from error


def _unreachable(address: str, error: Exception) -> BatchProblem:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return BatchProblem(
        f"Cannot reach the Ray cluster {address}: {lines[0].rstrip('.')}.",
        hint="`ray status` shows whether it runs; `--ray local` starts one here.",
    )


class RayEngine:
    """Runs attempts in Ray actors; a lost actor is replaced.

    A replacement never starts if the node of the old actor is gone, so tasks are sent only to
    actors that have answered ``ready``.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        budget: Budget,
        *,
        workers: int | None,
        per_worker: int,
        address: str,
        environ: Mapping[str, str],
    ) -> None:
        check_address(address, environ)
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        if "ray" not in sys.modules:
            if find_spec("ray") is None:
                raise BatchProblem("--ray needs the package ray.", hint=install_hint("ray"))
            check_reachable(address)  # before the import, which takes seconds
        import ray  # deferred: an optional dependency of 260 MB

        self._ray = ray
        self._settings = pickled(settings)
        self._per_worker = per_worker
        self._environ = dict(environ)
        self._budget = budget
        self._was_running = ray.is_initialized()
        if not self._was_running:
            self._connect(address)
        if workers is None:
            workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self.capacity = workers * per_worker
        self._gate = self._budget_actor()
        self._actors: list[Any] = []
        self._ready: list[_ActorSlot] = []
        self._changed = Notifier()
        self._tasks = TaskScope()
        self._failed_starts = 0
        for number in range(workers):
            self._start(number)

    def _connect(self, address: str) -> None:
        check_reachable(address)
        try:
            self._ray.init(
                address=None if address == "local" else address,
                include_dashboard=False if address == "local" else None,
                log_to_driver=False,
                logging_level="ERROR",
                configure_logging=False,
            )
        except Exception as error:  # Ray raises many types
            raise _unreachable(address, error) from error

    def _budget_actor(self) -> Any:
        """Start the budget actor on the driver's node; the batch ends anyway if that is lost.

        Returns ``None`` without a limit, which saves two messages per model call.
        """
        if self._budget.limit is None:
            return None
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        node_id = self._ray.get_runtime_context().get_node_id()
        kind = self._ray.remote(
            num_cpus=0,
            max_concurrency=10_000,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node_id, soft=False),
        )(_BudgetActor)
        return kind.remote(self._budget.limit, self._budget.spent)

    async def run(self, task: BatchTask, attempt: int) -> BatchResult:
        """Run an attempt in the least busy actor; raises ``WorkerLost``."""
        while not self._ready:
            if self._failed_starts >= MAX_FAILED_STARTS:
                raise BatchProblem("Ray workers cannot start.", hint="Is pi on all nodes?")
            await self._changed.wait()
        slot = min(self._ready, key=lambda slot: slot.load)
        slot.load += 1
        try:
            result: BatchResult = await _await_reference(slot.actor.run.remote(task, attempt))
            if self._gate is None:
                self._budget.settle(slot.name, result.cost)
        except self._ray.exceptions.RayError as error:
            await self._replace(slot)
            raise WorkerLost(f"A Ray worker was lost ({type(error).__name__}).") from error
        finally:
            slot.load -= 1
        if self._gate is not None:
            spent = await _await_reference(self._gate.spent.remote())
            self._budget.settle(slot.name, max(0.0, spent - self._budget.spent))
        return result

    async def close(self) -> None:
        """End the actors, and Ray if it was started here."""
        await self._tasks.close()
        for actor in self._actors:
            self._ray.kill(actor)
        if self._gate is not None:
            self._ray.kill(self._gate)
        if not self._was_running:
            await asyncio.to_thread(self._ray.shutdown)

    def _start(self, number: int) -> None:
        """Start an actor; it gets tasks after it has answered ``ready``."""
        kind = self._ray.remote(num_cpus=1, max_concurrency=self._per_worker + 1)(_WorkerActor)
        name = f"{number}-{os.urandom(4).hex()}"
        actor = kind.remote(self._settings, self._environ, self._gate, name)
        self._actors.append(actor)
        slot = _ActorSlot(number, name, actor)
        self._tasks.start(self._await_start(slot), name=f"start of Ray worker {number}")

    async def _await_start(self, slot: _ActorSlot) -> None:
        try:
            await _await_reference(slot.actor.ready.remote())
        except self._ray.exceptions.RayError:
            self._failed_starts += 1
            if self._failed_starts < MAX_FAILED_STARTS:
                self._start(slot.number)
        else:
            self._failed_starts = 0
            self._ready.append(slot)
        self._changed.notify()

    async def _replace(self, slot: _ActorSlot) -> None:
        if slot not in self._ready:
            return  # another task of the actor has replaced it already
        self._ready.remove(slot)
        self._actors.remove(slot.actor)
        self._ray.kill(slot.actor)
        if self._gate is not None:
            await _await_reference(self._gate.drop.remote(slot.name))
        self._start(slot.number)


class _ActorSlot:
    """One actor and the number of its tasks."""

    def __init__(self, number: int, name: str, actor: Any) -> None:
        self.number = number
        self.name = name
        self.actor = actor
        self.load = 0


async def _await_reference(reference: Any) -> Any:
    return await asyncio.wrap_future(reference.future())


class _BudgetActor:
    """The budget of the batch, shared by all actors."""

    def __init__(self, limit: float | None, spent: float) -> None:
        self._budget = Budget(limit, spent=spent)

    async def ask(self, worker: str) -> bool:
        """Whether a call may be made."""
        return await self._budget.ask(worker)

    async def settle(self, worker: str, cost: float | None) -> None:
        """Count a call that has ended."""
        self._budget.settle(worker, cost)

    async def drop(self, worker: str) -> None:
        """Forget the calls of an actor that was lost."""
        self._budget.drop(worker)

    async def spent(self) -> float:
        """Return the cost so far, in US dollars."""
        return self._budget.spent


class _FreeGate:
    """Allows every call: the batch has no budget."""

    async def ask(self) -> bool:
        """Return True."""
        return True

    def settle(self, cost: float | None) -> None:
        """Do nothing: the driver counts the cost of the result."""


class _RemoteGate:
    """Asks the budget actor before each model call."""

    def __init__(self, budget: Any, worker: str) -> None:
        self._budget = budget
        self._worker = worker

    async def ask(self) -> bool:
        """Whether the call may be made."""
        permission = asyncio.ensure_future(self._request())
        try:
            return await asyncio.shield(permission)
        except asyncio.CancelledError:
            # The actor may still grant the permission; it is returned then.
            permission.add_done_callback(self._return)
            raise

    async def _request(self) -> bool:
        granted: bool = await self._budget.ask.remote(self._worker)
        return granted

    def _return(self, permission: asyncio.Task[bool]) -> None:
        if not permission.cancelled() and permission.exception() is None and permission.result():
            self.settle(None)

    def settle(self, cost: float | None) -> None:
        """Report what the call has cost."""
        self._budget.settle.remote(self._worker, cost)


class _WorkerActor:
    """Runs attempts; async, so that one actor runs many sessions at a time."""

    def __init__(
        self, settings: bytes, environ: Mapping[str, str], budget: Any, worker: str
    ) -> None:
        os.environ.update(environ)
        self._runner = TaskRunner(pickle.loads(settings), dict(environ))
        self._gate = _FreeGate() if budget is None else _RemoteGate(budget, worker)

    async def ready(self) -> None:
        """Do nothing: the reply shows that the actor runs."""

    async def run(self, task: BatchTask, attempt: int) -> BatchResult:
        """Run one attempt."""
        return await self._runner.run(task, attempt, self._gate)

"""The budget of a batch: model calls need permission, which is denied once it is spent."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Hashable
from typing import Protocol

GROWTH = 2.0
"""A call is expected to cost at most this many times the most expensive call so far."""


class Gate(Protocol):
    """Permits the model calls of a task."""

    async def ask(self) -> bool:
        """Return whether the call may be made; after True the caller must call ``settle``."""

    def settle(self, cost: float | None) -> None:
        """Report the cost of an ended call; ``None`` if it failed and its cost is unknown."""


class Budget:
    """Permits calls of all workers; at most one call per worker exceeds the budget.

    The cost of a call is known only when it has ended. All calls are permitted while the running
    calls cannot spend the budget; after that, each worker may run one call at a time. A running
    call is estimated at ``GROWTH`` times the most expensive one so far.
    """

    def __init__(
        self,
        limit: float | None,
        *,
        spent: float = 0.0,
        record: Callable[[float], None] | None = None,
    ) -> None:
        self.limit = limit
        self.spent = spent
        self._record = record
        """Called with the total after each call, so that the total survives a crash."""
        self._max_cost: float | None = None
        self._running: Counter[Hashable] = Counter()
        self._waiting: deque[tuple[Hashable, asyncio.Future[bool]]] = deque()

    @property
    def is_spent(self) -> bool:
        """Whether no call is allowed any more."""
        return self.limit is not None and self.spent >= self.limit

    async def ask(self, worker: Hashable) -> bool:
        """Wait until a call of ``worker`` is allowed; False once the budget is spent."""
        if (answer := self._decide(worker)) is not None:
            return answer
        waiting: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((worker, waiting))
        try:
            return await waiting
        except asyncio.CancelledError:
            # Permitted and cancelled in the same step of the event loop: the call is not made.
            if waiting.done() and not waiting.cancelled() and waiting.result():
                self.settle(worker, None)
            raise

    def settle(self, worker: Hashable, cost: float | None) -> None:
        """Count a call that has ended; ``None`` if it failed and its cost is unknown."""
        if cost is not None:
            self.spent += cost
            self._max_cost = max(self._max_cost or 0.0, cost)
            if cost and self._record is not None:
                self._record(self.spent)
        if self._running[worker]:
            self._running[worker] -= 1
        self._wake()

    def drop(self, worker: Hashable) -> None:
        """Forget the running calls of a worker that was lost; their cost is unknown."""
        del self._running[worker]
        for waiting_worker, future in self._waiting:
            if waiting_worker == worker:
                future.cancel()
        self._wake()

    def _wake(self) -> None:
        for _ in range(len(self._waiting)):
            worker, future = self._waiting.popleft()
            if future.done():
                continue
            if (answer := self._decide(worker)) is None:
                self._waiting.append((worker, future))
            else:
                future.set_result(answer)

    def _decide(self, worker: Hashable) -> bool | None:
        """Whether a call is allowed; ``None`` while it has to wait."""
        if self.limit is None:
            self._running[worker] += 1
            return True
        if self.is_spent:
            return False
        calls = self._running.total() + 1
        fits = (
            self._max_cost is not None
            and self.spent + calls * GROWTH * self._max_cost <= self.limit
        )
        # A worker's only call need not fit. It waits while any worker runs several calls: these
        # were permitted because they fitted.
        if not fits and (self._running[worker] or max(self._running.values(), default=0) > 1):
            return None
        self._running[worker] += 1
        return True


class LocalGate:
    """The gate of a task in this process."""

    def __init__(self, budget: Budget, worker: Hashable = None) -> None:
        self._budget = budget
        self._worker = worker

    async def ask(self) -> bool:
        """Whether the call may be made."""
        return await self._budget.ask(self._worker)

    def settle(self, cost: float | None) -> None:
        """Report what the call has cost."""
        self._budget.settle(self._worker, cost)

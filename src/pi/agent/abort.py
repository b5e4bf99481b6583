"""Abort signal of a run, and waits that it cancels."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from pi.base.clock import Clock

T = TypeVar("T")


class Aborted(Exception):
    """The wait was cancelled because the run is being aborted."""


class Abort:
    """Abort signal of one run."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.requested = False
        """Whether an abort was requested."""
        self._stops: list[Callable[[], object]] = []

    def request(self) -> None:
        """Request the abort: current waits are cancelled, later waits raise at once. Idempotent.

        Never raises in the caller: a hook that aborts its own run is not cancelled itself.
        """
        if not self.requested:
            self.requested = True
            for stop in tuple(self._stops):
                stop()

    @contextmanager
    def on_abort(self, stop: Callable[[], object]) -> Iterator[None]:
        """Call ``stop`` on abort; immediately if the abort was already requested."""
        self._stops.append(stop)
        try:
            if self.requested:
                stop()
            yield
        finally:
            self._stops.remove(stop)

    async def wait(self, work: Callable[[], Awaitable[T]], *, grace: float = 0) -> T:
        """Return the result of ``work``; raises ``Aborted`` ``grace`` seconds after an abort."""
        if self.requested and not grace:
            raise Aborted
        cut = _AbortableWait(self._clock, grace)
        with self.on_abort(cut.begin):
            return await cut.wait(work)


class _AbortableWait:
    """Cancels one wait, immediately or after a grace period."""

    def __init__(self, clock: Clock, grace: float) -> None:
        waiter = asyncio.current_task()
        assert waiter is not None
        self._waiter = waiter
        self._clock = clock
        self._grace = grace
        self._deadline: asyncio.Task[None] | None = None
        self._done = False

    def begin(self) -> None:
        if self._grace:
            self._deadline = asyncio.get_running_loop().create_task(self._end_later())
        elif asyncio.current_task() is not self._waiter:
            self._end()

    async def wait(self, work: Callable[[], Awaitable[T]]) -> T:
        before = self._waiter.cancelling()
        try:
            return await work()
        except asyncio.CancelledError as cancelled:
            if self._waiter.cancelling() > before + self._done:
                raise  # the whole run is cancelled, not only this wait
            if self._done:
                raise Aborted from None
            raise RuntimeError("What was waited for was cancelled.") from cancelled
        finally:
            if self._deadline is not None:
                self._deadline.cancel()
            if self._done:
                self._waiter.uncancel()

    async def _end_later(self) -> None:
        await self._clock.sleep(self._grace)
        self._end()

    def _end(self) -> None:
        self._done = True
        self._waiter.cancel()

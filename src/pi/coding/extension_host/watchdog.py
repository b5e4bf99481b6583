"""How long handlers may take: one watcher for all of them, and no timer for each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from typing import TypeVar

from pi.base.clock import Clock
from pi.coding.extension_host.failures import HandlerTimeout

T = TypeVar("T")

ALLOWANCE = 30.0
"""Seconds that a handler may take; the time in which its dialogs are open does not count."""
SHORTEST_LOOK = 0.05
"""Seconds between two looks at handlers, however little time is left to them."""


class Turn:
    """One handler that is awaited."""

    __slots__ = ("dialogs", "expired", "left", "since", "task")

    def __init__(self, task: asyncio.Task[object], seconds: float, now: float) -> None:
        self.task = task
        self.left = seconds
        self.since = now
        self.dialogs = 0
        self.expired = False

    def pass_time(self, now: float) -> float:
        """Seconds that are left at ``now``; they stand still while a dialog is open."""
        if not self.dialogs:
            self.left -= now - self.since
        self.since = now
        return self.left


_turn: ContextVar[Turn | None] = ContextVar("turn", default=None)


class Watchdog:
    """Cancels handlers that take too long. Watches only while one is awaited."""

    def __init__(self, clock: Clock, seconds: float = ALLOWANCE) -> None:
        self._clock = clock
        self._seconds = seconds
        self._turns: set[Turn] = set()
        self._watcher: asyncio.Task[None] | None = None

    async def watch(self, work: Awaitable[T]) -> T:
        """What ``work`` gives, or ``HandlerTimeout``; any other cancellation passes through."""
        task = asyncio.current_task()
        assert task is not None
        turn = Turn(task, self._seconds, self._clock.monotonic())
        cancelled_before = task.cancelling()
        self._turns.add(turn)
        if self._watcher is None:
            self._watcher = Context().run(asyncio.ensure_future, self._watch())
        mark = _turn.set(turn)
        try:
            result = await work
        except asyncio.CancelledError:
            if not turn.expired or task.uncancel() > cancelled_before:
                raise
            raise HandlerTimeout(self._seconds) from None
        finally:
            _turn.reset(mark)
            self._turns.discard(turn)
        if turn.expired:  # it has swallowed its cancellation
            task.uncancel()
            raise HandlerTimeout(self._seconds)
        return result

    @contextmanager
    def dialog(self) -> Iterator[None]:
        """Stop the clock of the handler that is at work, as long as the person is asked."""
        turn = _turn.get()
        if turn is None:
            yield
            return
        turn.pass_time(self._clock.monotonic())
        turn.dialogs += 1
        try:
            yield
        finally:
            turn.pass_time(self._clock.monotonic())
            turn.dialogs -= 1

    async def close(self) -> None:
        """Watch no more."""
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.wait({self._watcher})
            self._watcher = None

    async def _watch(self) -> None:
        while self._turns:
            waiting = [turn.left for turn in self._turns if not turn.expired]
            await self._clock.sleep(max(min(waiting, default=self._seconds), SHORTEST_LOOK))
            now = self._clock.monotonic()
            for turn in tuple(self._turns):
                if turn.pass_time(now) <= 0 and not turn.expired:
                    turn.expired = True
                    turn.task.cancel()
        self._watcher = None

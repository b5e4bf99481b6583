"""A clock that a test advances."""

from __future__ import annotations

import asyncio
import heapq
from itertools import count

TURNS_PER_STEP = 20
"""Event loop iterations between two sleepers, so that tasks woken by one can proceed."""


class FakeClock:
    """Implements ``pi.base.clock.Clock``; time passes only in ``advance``."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._start_ms = now_ms
        self._elapsed = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()

    def now_ms(self) -> int:
        """Milliseconds since 1970, as advanced by the test."""
        return self._start_ms + round(self._elapsed * 1000)

    def monotonic(self) -> float:
        """Seconds by which the test has advanced the clock."""
        return self._elapsed

    @property
    def sleeping(self) -> int:
        """Number of tasks that are sleeping."""
        return sum(not waiting.done() for _, _, waiting in self._sleepers)

    async def sleep(self, seconds: float) -> None:
        """Wait until the test has advanced the clock by ``seconds``."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        waiting = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed + seconds, next(self._order), waiting))
        await waiting

    async def advance(self, seconds: float) -> None:
        """Advance by ``seconds``. Wakes sleepers in order of deadline; they may sleep again."""
        end = self._elapsed + seconds
        await self._let_tasks_run()
        while self._sleepers and self._sleepers[0][0] <= end:
            due, _, waiting = heapq.heappop(self._sleepers)
            self._elapsed = max(self._elapsed, due)
            if not waiting.done():
                waiting.set_result(None)
                await self._let_tasks_run()
        self._elapsed = end

    async def _let_tasks_run(self) -> None:
        for _ in range(TURNS_PER_STEP):
            await asyncio.sleep(0)

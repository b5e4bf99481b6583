"""Timers under the control of the test."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count


class ManualTimer:
    def __init__(self, callback: Callable[[], object]) -> None:
        self.callback: Callable[[], object] | None = callback

    def cancel(self) -> None:
        self.callback = None


class ManualTimers:
    """Implements ``pi.tui.terminal.Timers``; time passes only in ``advance``."""

    def __init__(self) -> None:
        self._now = 0.0
        self._order = count()
        self._waiting: list[tuple[float, int, ManualTimer]] = []

    def time(self) -> float:
        return self._now

    def call_later(self, delay: float, callback: Callable[[], object]) -> ManualTimer:
        timer = ManualTimer(callback)
        heapq.heappush(self._waiting, (self._now + delay, next(self._order), timer))
        return timer

    def advance(self, seconds: float) -> None:
        end = self._now + seconds
        while self._waiting and self._waiting[0][0] <= end + 1e-9:
            due, _, timer = heapq.heappop(self._waiting)
            self._now = max(self._now, due)
            if timer.callback is not None:
                timer.callback()
        self._now = end

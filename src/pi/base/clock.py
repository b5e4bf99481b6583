"""Time as an argument: the only place that asks the operating system for it."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """What code that measures, stamps or waits is given."""

    def now_ms(self) -> int:
        """Milliseconds since 1970, for timestamps that are stored."""
        ...

    def monotonic(self) -> float:
        """Seconds that never jump or run backwards, for durations."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; cancelling the waiting task ends the wait."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds since some fixed point in the past."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait ``seconds``, however many: a month does not overflow the timer."""
        import asyncio  # not at the top: stamping a record must not cost the event loop's import

        await asyncio.sleep(seconds)


def iso_timestamp(now_ms: int) -> str:
    """``now_ms`` as ISO 8601 in UTC with milliseconds, e.g. ``2026-11-15T19:23:06.927Z``."""
    seconds, milliseconds = divmod(now_ms, 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{milliseconds:03d}Z"

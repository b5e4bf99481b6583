"""The clock as a parameter: the only module that reads the system's time."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """The source of time for code that measures, stamps or waits."""

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
    """The system clock."""

    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds since some fixed point in the past."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait ``seconds``; a value of a month does not overflow the timer."""
        import asyncio  # lazy: stamping a record must not cost the import of the event loop

        await asyncio.sleep(seconds)


def iso_timestamp(now_ms: int) -> str:
    """``now_ms`` as ISO 8601 in UTC with milliseconds, e.g. ``2026-11-15T19:23:06.927Z``."""
    seconds, milliseconds = divmod(now_ms, 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{milliseconds:03d}Z"

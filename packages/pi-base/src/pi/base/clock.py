"""Time and randomness as parameters: the clock, timestamps and ids.

The only module that reads the system's time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Container
from typing import Protocol

from msgspec import field

from pi.base.records import Record


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


RandomBytes = Callable[[int], bytes]
"""Returns that many unpredictable bytes; ``os.urandom`` outside of tests."""


def uuid7(now_ms: int, random_bytes: RandomBytes) -> str:
    """Return a UUID version 7 (RFC 9562): it starts with the time, so that ids sort by age."""
    noise = int.from_bytes(random_bytes(10), "big")
    value = (now_ms & 0xFFFF_FFFF_FFFF) << 80
    value |= 0x7 << 76 | (noise >> 62 & 0xFFF) << 64
    value |= 0b10 << 62 | noise & 0x3FFF_FFFF_FFFF_FFFF
    digits = f"{value:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def short_id(used: Container[str], random_bytes: RandomBytes) -> str:
    """Return eight hex digits that are not in ``used``; a long random id if that keeps
    failing."""
    for _ in range(100):
        candidate = random_bytes(4).hex()
        if candidate not in used:
            return candidate
    return uuid7(0, random_bytes)


class IdFactory(Record, kw_only=False):
    """Makes ids and timestamps; tests pass their own clock and random bytes."""

    clock: Clock = field(default_factory=SystemClock)
    random_bytes: RandomBytes = os.urandom

    def now(self) -> str:
        """Return the time in the format of session files."""
        return iso_timestamp(self.clock.now_ms())

    def session_id(self) -> str:
        """Return a new session id; ids sort by age."""
        return uuid7(self.clock.now_ms(), self.random_bytes)

    def entry_id(self, used: Container[str]) -> str:
        """Return a new entry id that is not in ``used``."""
        return short_id(used, self.random_bytes)

    def entry_stamp(self, used: Container[str]) -> tuple[str, str]:
        """Return id and timestamp of a new entry; the id is not in ``used``."""
        return short_id(used, self.random_bytes), iso_timestamp(self.clock.now_ms())

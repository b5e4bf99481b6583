"""Run work that sleeps for minutes without waiting, by a fake clock."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from pi.base.testing import FakeClock

T = TypeVar("T")


async def in_time(clock: FakeClock, work: Awaitable[T]) -> T:
    """Advance the clock whenever all tasks sleep, until ``work`` is done."""
    task = asyncio.ensure_future(work)
    async with asyncio.timeout(30):
        while not task.done():
            if clock.sleeping:
                await clock.advance(1)
            else:
                await asyncio.sleep(0)
    return task.result()

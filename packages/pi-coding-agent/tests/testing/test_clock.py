from __future__ import annotations

import asyncio

from pi.base.clock import Clock
from pi.testing import FakeClock


async def test_sleepers_wake_in_the_order_of_their_deadlines() -> None:
    clock = FakeClock()
    woken: list[tuple[str, float]] = []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.monotonic()))

    async with asyncio.TaskGroup() as group:
        for name, seconds in (("late", 3.0), ("early", 1.0), ("never", 99.0)):
            group.create_task(sleeper(name, seconds))
        await clock.advance(10)
        assert woken == [("early", 1.0), ("late", 3.0)]
        await clock.advance(89)

    assert woken == [("early", 1.0), ("late", 3.0), ("never", 99.0)]


async def test_a_sleeper_can_sleep_again_during_one_advance() -> None:
    clock = FakeClock()
    ticks: list[float] = []

    async def ticking() -> None:
        for _ in range(3):
            await clock.sleep(1)
            ticks.append(clock.monotonic())

    async with asyncio.TaskGroup() as group:
        group.create_task(ticking())
        await clock.advance(2.5)
        assert ticks == [1.0, 2.0]
        assert clock.sleeping == 1
        await clock.advance(0.5)

    assert ticks == [1.0, 2.0, 3.0]


async def test_a_cancelled_sleeper_is_not_woken() -> None:
    clock = FakeClock()
    task = asyncio.create_task(clock.sleep(5))
    await clock.advance(1)

    task.cancel()
    await clock.advance(10)

    assert task.cancelled()
    assert clock.sleeping == 0


async def test_sleeping_zero_seconds_advances_neither_wall_nor_monotonic_time() -> None:
    clock: Clock = FakeClock(now_ms=1000)

    await clock.sleep(0)

    assert (clock.now_ms(), clock.monotonic()) == (1000, 0.0)

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from pi.coding.extension_host.containment import HandlerTimeout
from pi.coding.extension_host.watchdog import Watchdog
from pi.testing import FakeClock


async def test_a_fast_handler_returns_its_result() -> None:
    watchdog = Watchdog(FakeClock())

    async def work() -> int:
        return 3

    assert await watchdog.watch(work()) == 3
    await watchdog.close()


async def test_a_slow_handler_is_cancelled_and_the_task_continues() -> None:
    clock = FakeClock()
    watchdog = Watchdog(clock, 30)
    cancelled: list[bool] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async def dispatch() -> str:
        with pytest.raises(HandlerTimeout):
            await watchdog.watch(work())
        await asyncio.sleep(0)
        return "went on"

    task = asyncio.ensure_future(dispatch())
    await clock.advance(29)
    assert not cancelled
    await clock.advance(2)

    assert (await task, cancelled) == ("went on", [True])
    await watchdog.close()


async def test_a_handler_that_suppresses_its_cancellation_still_times_out() -> None:
    clock = FakeClock()
    watchdog = Watchdog(clock, 30)

    async def work() -> str:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return "an answer"

    task = asyncio.ensure_future(watchdog.watch(work()))
    await clock.advance(31)

    with pytest.raises(HandlerTimeout):
        await task
    await watchdog.close()


async def test_the_time_limit_is_stopped_while_a_dialog_is_open() -> None:
    clock = FakeClock()
    watchdog = Watchdog(clock, 30)
    answered = asyncio.Event()

    async def work() -> str:
        with watchdog.dialog():
            await answered.wait()
        await clock.sleep(20)
        return "done"

    task = asyncio.ensure_future(watchdog.watch(work()))
    await clock.advance(500)
    answered.set()
    await clock.advance(21)

    assert await task == "done"
    await watchdog.close()


async def test_a_cancellation_from_outside_propagates() -> None:
    watchdog = Watchdog(FakeClock())
    task = asyncio.ensure_future(watchdog.watch(asyncio.Event().wait()))
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    await watchdog.close()


async def test_a_dialog_outside_of_a_handler_needs_no_time_limit() -> None:
    with Watchdog(FakeClock()).dialog():
        pass

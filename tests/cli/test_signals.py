from __future__ import annotations

import asyncio
import os
import signal

import pytest

from pi.cli.signals import Signalled, until_signal

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


async def test_without_a_signal_it_is_what_the_work_gives() -> None:
    async def work() -> int:
        return 7

    assert await until_signal(work()) == 7


@pytest.mark.trap(260)
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
async def test_a_signal_ends_the_work_which_cleans_up_first(name: str) -> None:
    number = getattr(signal, name)
    steps: list[str] = []

    async def work() -> None:
        os.kill(os.getpid(), number)
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            steps.append("saved")

    with pytest.raises(Signalled) as caught:
        await until_signal(work())

    assert (steps, caught.value.number, str(caught.value)) == (["saved"], number, name)


async def test_afterwards_signals_mean_what_they_meant_before() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]

    await until_signal(asyncio.sleep(0))

    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


async def test_who_is_cancelled_from_outside_stays_cancelled() -> None:
    task = asyncio.ensure_future(until_signal(asyncio.Event().wait()))
    await asyncio.sleep(0)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task

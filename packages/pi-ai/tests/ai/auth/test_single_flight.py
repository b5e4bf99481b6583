from __future__ import annotations

import asyncio

import pytest

from pi.ai.auth.config_values import SingleFlight


class Work:
    def __init__(self) -> None:
        self.started = 0
        self.go = asyncio.Event()
        self.problem: Exception | None = None
        self.ended: list[str] = []

    async def __call__(self) -> str:
        self.started += 1
        try:
            await self.go.wait()
            if self.problem:
                raise self.problem
            self.ended.append("done")
            return "result"
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise


async def waiters(flight: SingleFlight[str], work: Work, n: int) -> list[asyncio.Task[str]]:
    tasks = [asyncio.create_task(flight.run("name", work)) for _ in range(n)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return tasks


async def test_concurrent_callers_share_one_run_and_later_callers_start_a_new_one() -> None:
    flight, work = SingleFlight[str](), Work()

    tasks = await waiters(flight, work, 3)
    work.go.set()

    assert await asyncio.gather(*tasks) == ["result"] * 3
    assert work.started == 1
    assert await flight.run("name", work) == "result"
    assert work.started == 2


async def test_a_failure_is_shared_too() -> None:
    flight, work = SingleFlight[str](), Work()
    work.problem = ValueError("broken")

    tasks = await waiters(flight, work, 2)
    work.go.set()

    assert [repr(e) for e in await asyncio.gather(*tasks, return_exceptions=True)] == [
        "ValueError('broken')"
    ] * 2
    assert work.started == 1


async def test_cancelling_one_caller_does_not_cancel_the_others() -> None:
    flight, work = SingleFlight[str](), Work()

    first, second = await waiters(flight, work, 2)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    work.go.set()

    assert await second == "result"
    assert work.started == 1


async def test_cancelling_all_callers_cancels_the_work_before_they_end() -> None:
    flight, work = SingleFlight[str](), Work()

    tasks = await waiters(flight, work, 2)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)

    assert work.ended == ["cancelled"]
    work.go.set()
    assert await flight.run("name", work) == "result"

from __future__ import annotations

import asyncio
import weakref
from functools import partial

from pi.coding.extension_host.scope import Registration, Scope
from pi.testing import FakeClock


def new_scope(clock: FakeClock, problems: list[str]) -> Scope:
    return Scope(clock, name="x", report=lambda what, error: problems.append(f"{what}: {error}"))


async def test_closing_a_scope_ends_registrations_tasks_and_closers_in_order() -> None:
    problems: list[str] = []
    ended: list[str] = []
    scope = new_scope(FakeClock(), problems)

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("task")

    scope.spawn(work(), name="work")
    scope.keep(Registration(lambda: ended.append("registration")))
    scope.on_close(lambda: ended.append("first closer"))
    scope.on_close(lambda: ended.append("last closer"))
    await asyncio.sleep(0)
    await scope.close()
    await scope.close()

    assert ended == ["registration", "task", "last closer", "first closer"]
    assert (scope.closed, problems) == (True, [])


async def test_a_timer_continues_after_failures_until_it_is_removed() -> None:
    clock = FakeClock()
    problems: list[str] = []
    ticks: list[float] = []
    scope = new_scope(clock, problems)

    def tick() -> None:
        ticks.append(clock.monotonic())
        raise ValueError("late")

    timer = scope.every(2, tick)
    await clock.advance(5)
    timer.remove()
    await clock.advance(5)
    await scope.close()

    assert (ticks, problems) == ([2, 4], ["x: timer: late", "x: timer: late"])


async def test_a_timer_that_removes_itself_ends_after_its_tick_without_a_report() -> None:
    clock = FakeClock()
    problems: list[str] = []
    ticks: list[str] = []
    scope = new_scope(clock, problems)

    async def tick() -> None:
        ticks.append("begin")
        timer.remove()
        await asyncio.sleep(0)
        ticks.append("end")

    timer = scope.every(2, tick)
    await clock.advance(10)
    await scope.close()

    assert (ticks, problems) == (["begin", "end"], [])


async def test_a_tick_may_close_the_scope_of_its_timer() -> None:
    clock = FakeClock()
    problems: list[str] = []
    ticks: list[str] = []
    scope = new_scope(clock, problems)

    async def tick() -> None:
        await scope.close()
        ticks.append("closed")

    scope.every(2, tick)
    await clock.advance(10)

    assert (ticks, problems) == (["closed"], [])


async def test_work_that_arrives_while_a_scope_closes_is_dropped_without_a_report() -> None:
    problems: list[str] = []
    done: list[str] = []
    scope = new_scope(FakeClock(), problems)

    async def work(name: str) -> None:
        done.append(name)

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            scope.spawn(work("of a task"), name="work")

    scope.keep(Registration(lambda: done.append("registration")))
    scope.spawn(wait(), name="wait")

    def close() -> None:
        scope.spawn(work("of a closer"), name="work")

    scope.on_close(close)
    await asyncio.sleep(0)
    await scope.close()
    late = scope.spawn(work("afterwards"), name="work")
    timer = scope.every(1, lambda: done.append("tick"))
    await asyncio.wait({late})

    assert (done, problems) == (["registration"], [])
    assert late.cancelled()
    timer.remove()


async def test_a_task_that_fails_is_reported() -> None:
    problems: list[str] = []
    scope = new_scope(FakeClock(), problems)

    async def work() -> None:
        raise ValueError("broken")

    await asyncio.wait({scope.spawn(work(), name="work")})
    await scope.close()

    assert problems == ["x: work: broken"]


async def test_removed_registrations_are_not_kept() -> None:
    scope = new_scope(FakeClock(), [])
    ended: list[int] = []
    first = weakref.ref(scope.keep(Registration(lambda: None)))
    for number in range(500):
        scope.keep(Registration(partial(ended.append, number))).remove()
    last = scope.keep(Registration(lambda: ended.append(-1)))
    living = first()
    assert living is not None
    living.remove()
    del living
    for _ in range(500):
        scope.keep(Registration(lambda: None)).remove()

    assert first() is None
    assert last.active
    await scope.close()
    assert ended == [*range(500), -1]

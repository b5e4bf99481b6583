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

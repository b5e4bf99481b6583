from __future__ import annotations

import asyncio

import pytest

from pi.base.tasks import Notifier, TaskScope, finish_despite_cancel, maybe_await


class Reports(list[tuple[str, str]]):
    def __call__(self, name: str, error: BaseException) -> None:
        self.append((name, repr(error)))


async def test_leaving_the_scope_cancels_its_tasks() -> None:
    ended = asyncio.Event()

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with TaskScope() as scope:
        scope.start(endless(), name="endless")
        await asyncio.sleep(0)
        assert len(scope) == 1

    assert ended.is_set()
    assert len(scope) == 0


async def test_a_task_that_fails_is_reported_and_its_siblings_continue() -> None:
    reports = Reports()

    async def failing() -> None:
        raise ValueError("broken")

    async def working() -> str:
        await asyncio.sleep(0)
        return "done"

    async with TaskScope(report=reports) as scope:
        scope.start(failing(), name="bad")
        good = scope.start(working(), name="good")
        assert await good == "done"

    assert reports == [("bad", "ValueError('broken')")]


async def test_a_task_that_does_not_stop_is_abandoned_and_reported_by_name() -> None:
    reports = Reports()
    let_go = asyncio.Event()

    async def stubborn() -> None:
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue

    async with TaskScope(report=reports, grace=0.01) as scope:
        task = scope.start(stubborn(), name="mule")
        await asyncio.sleep(0)

    assert reports == [("mule", "TimeoutError('did not stop within 0.01 seconds')")]
    let_go.set()
    await task


async def test_work_that_arrives_after_the_end_of_a_scope_is_dropped() -> None:
    reports: list[str] = []
    scope = TaskScope(report=lambda name, error: reports.append(name))
    await scope.close()
    done: list[str] = []

    async def work() -> None:
        done.append("late")

    task = scope.start(work(), name="late")
    await asyncio.wait({task})

    assert task.cancelled()
    assert (done, reports, len(scope)) == ([], [], 0)


async def test_a_task_may_close_its_own_scope() -> None:
    scope = TaskScope()
    task = scope.start(scope.close(), name="closer")

    async with asyncio.timeout(30):
        await task

    assert not task.cancelled()


async def test_finish_despite_cancel_completes_the_work_before_it_raises_the_cancellation() -> None:
    go_on, saved = asyncio.Event(), asyncio.Event()

    async def save() -> None:
        await go_on.wait()
        saved.set()

    saving = asyncio.create_task(finish_despite_cancel(save()))
    await asyncio.sleep(0)
    saving.cancel()
    await asyncio.sleep(0)
    assert not saving.done()
    go_on.set()

    with pytest.raises(asyncio.CancelledError):
        await saving
    assert saved.is_set()


async def test_finish_despite_cancel_returns_the_result_or_raises_the_error() -> None:
    async def good() -> int:
        return 7

    async def bad() -> int:
        raise ValueError("broken")

    assert await finish_despite_cancel(good()) == 7
    with pytest.raises(ValueError, match="broken"):
        await finish_despite_cancel(bad())


async def test_settling_waits_for_short_tasks_but_not_for_endless_ones() -> None:
    ended: list[str] = []

    async def brief() -> None:
        ended.append("brief")

    async with TaskScope() as scope:
        scope.start(brief(), name="brief")
        scope.start(asyncio.Event().wait(), name="endless")
        await scope.settle(0.01)

        assert ended == ["brief"]
        assert len(scope) == 1


async def test_a_notification_wakes_current_waiters_and_no_later_ones() -> None:
    signal = Notifier()
    signal.notify()  # without a waiter
    first = [asyncio.create_task(signal.wait()) for _ in range(2)]
    await asyncio.sleep(0)

    signal.notify()
    later = asyncio.create_task(signal.wait())
    await asyncio.gather(*first)

    assert not later.done()
    signal.notify()
    await later


async def test_maybe_await_awaits_awaitables_and_returns_other_values() -> None:
    async def later() -> int:
        return 2

    assert [await maybe_await(given) for given in (1, later())] == [1, 2]

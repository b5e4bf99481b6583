from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pi.base import tasks
from pi.base.guarded_loop import run_guarded
from pi.base.tasks import Notifier, TaskScope, finish_despite_cancel, maybe_await

T = TypeVar("T")


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


def test_code_outside_of_pi_cancels_its_own_tasks_only() -> None:
    async def own(scope: TaskScope) -> list[bool]:
        cancelled = []
        theirs = asyncio.create_task(asyncio.sleep(60))
        spawned = scope.start(asyncio.sleep(60), name="spawned")
        for task in (theirs, spawned):
            cancelled.append(task.cancel())
            await asyncio.wait({task})
        return cancelled

    async def main() -> tuple[str, list[bool], list[bool]]:
        async with TaskScope() as scope:
            async with asyncio.timeout(60):
                work = start_in_pi(asyncio.sleep(0.01, "done"))
                others = asyncio.all_tasks() - {asyncio.current_task()}
                refused = [task.cancel() for task in others]
                result = await work
            return result, refused, await own(scope)

    result, refused, own_cancelled = run_guarded(main())

    assert (result, set(refused), own_cancelled) == ("done", {False}, [True, True])


def start_in_pi(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Start a task as pi does: the code that creates it is in its package."""
    path = Path(tasks.__file__).with_name("made_up.py")
    code = compile("def start(create, work): return create(work)", str(path), "exec")
    names: dict[str, Any] = {}
    exec(code, names)
    task: asyncio.Task[T] = names["start"](asyncio.create_task, work)
    return task


@pytest.mark.parametrize("gathered", [False, True])
def test_a_callback_of_the_loop_does_not_cancel_a_task_of_pi(gathered: bool) -> None:
    async def main() -> str:
        loop = asyncio.get_running_loop()
        end: asyncio.Future[str] = loop.create_future()
        work = start_in_pi(waiting_for(end))
        loop.call_soon((asyncio.gather(work) if gathered else work).cancel)
        loop.call_soon(loop.call_soon, end.set_result, "done")
        async with asyncio.timeout(60):
            return await work

    assert run_guarded(main()) == "done"


async def waiting_for(end: asyncio.Future[str]) -> str:
    return await end


def test_timeouts_and_gathered_tasks_of_pi_can_still_be_cancelled() -> None:
    async def stuck() -> None:
        await asyncio.Event().wait()

    async def in_time() -> None:
        async with asyncio.timeout(0):
            await stuck()

    async def together(inner: asyncio.Task[None]) -> None:
        await asyncio.gather(inner)

    async def main() -> tuple[BaseException | None, bool]:
        limited, inner = start_in_pi(in_time()), start_in_pi(stuck())
        async with TaskScope() as scope, asyncio.timeout(60):
            await asyncio.wait({limited})
            scope.start(together(inner), name="together")
            await asyncio.sleep(0)
            await scope.close()
            await asyncio.wait({inner})
        return limited.exception(), inner.cancelled()

    error, was_cancelled = run_guarded(main())

    assert isinstance(error, TimeoutError)
    assert was_cancelled


def test_work_that_a_thread_submits_is_cancelled_by_its_future() -> None:
    async def main() -> None:
        ended = asyncio.Event()

        async def work() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        loop = asyncio.get_running_loop()
        submitted = await asyncio.to_thread(asyncio.run_coroutine_threadsafe, work(), loop)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        submitted.cancel()
        async with asyncio.timeout(60):
            await ended.wait()

    run_guarded(main())

from __future__ import annotations

import asyncio

import pytest

from pi.agent.policy import Abort, Aborted
from pi.base.testing import FakeClock
from tests.agent.agents import tasks_left


async def done() -> str:
    await asyncio.sleep(0)
    return "done"


async def forever() -> None:
    await asyncio.Event().wait()


def cancellations() -> int:
    task = asyncio.current_task()
    assert task is not None
    return task.cancelling()


async def test_a_wait_returns_the_result() -> None:
    abort = Abort(FakeClock())

    assert await abort.wait(done) == "done"
    assert not abort.requested


async def test_an_abort_ends_a_wait_and_leaves_no_pending_cancellation() -> None:
    abort = Abort(FakeClock())
    asyncio.get_running_loop().call_soon(abort.request)

    with pytest.raises(Aborted):
        await abort.wait(forever)

    assert abort.requested
    assert cancellations() == 0
    await asyncio.sleep(0)  # would raise if a cancellation were left


async def test_a_wait_after_an_abort_does_not_start_the_work() -> None:
    abort = Abort(FakeClock())
    abort.request()
    begun: list[str] = []

    async def begin() -> None:
        begun.append("begun")

    with pytest.raises(Aborted):
        await abort.wait(begin)

    assert begun == []


async def test_work_that_requests_the_abort_itself_is_not_cancelled() -> None:
    abort = Abort(FakeClock())

    async def work() -> str:
        abort.request()
        await asyncio.sleep(0)
        return "done"

    assert await abort.wait(work) == "done"


async def test_work_can_finish_within_its_grace_period_after_an_abort() -> None:
    clock = FakeClock()
    abort = Abort(clock)
    abort.request()

    assert await abort.wait(done, grace=2) == "done"
    assert await tasks_left() == set()


async def test_work_that_exceeds_its_grace_period_is_cancelled() -> None:
    clock = FakeClock()
    abort = Abort(clock)
    waiting = asyncio.create_task(abort.wait(forever, grace=2))
    await asyncio.sleep(0)

    abort.request()
    await clock.advance(1.9)
    assert not waiting.done()
    await clock.advance(0.1)

    with pytest.raises(Aborted):
        await waiting
    assert await tasks_left() == set()


async def test_work_that_suppresses_its_cancellation_still_returns_its_value() -> None:
    abort = Abort(FakeClock())

    async def stubborn() -> str:
        try:
            await forever()
        except asyncio.CancelledError:
            return "still here"
        return "unreachable"

    asyncio.get_running_loop().call_soon(abort.request)

    assert await abort.wait(stubborn) == "still here"
    assert cancellations() == 0


async def test_a_cancellation_from_outside_is_raised() -> None:
    abort = Abort(FakeClock())
    waiting = asyncio.create_task(abort.wait(forever))
    await asyncio.sleep(0)

    abort.request()
    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_work_that_is_cancelled_by_other_code_raises_runtime_error() -> None:
    abort = Abort(FakeClock())
    never = asyncio.get_running_loop().create_future()
    never.cancel()

    async def work() -> None:
        await never

    with pytest.raises(RuntimeError, match="was cancelled"):
        await abort.wait(work)


async def test_an_abort_callback_is_called_once_and_only_within_its_context() -> None:
    abort = Abort(FakeClock())
    stopped: list[str] = []

    with abort.on_abort(lambda: stopped.append("before")):
        pass
    with abort.on_abort(lambda: stopped.append("during")):
        abort.request()
        abort.request()
    with abort.on_abort(lambda: stopped.append("after")):
        pass

    assert stopped == ["during", "after"]

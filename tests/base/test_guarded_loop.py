"""The loop of the ``pi`` command ends when code of extensions closed coroutines of pi."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import suppress
from types import CoroutineType
from typing import Any

import pytest

from pi.base.guarded_loop import GuardedTask, TasksClosed, run_guarded
from tests.base.test_tasks import start_in_pi


async def waits(event: asyncio.Event) -> None:
    await event.wait()


async def waits_below(event: asyncio.Event) -> None:
    await waits(event)


async def waits_in_a_generator(event: asyncio.Event) -> None:
    async def items() -> AsyncIterator[None]:
        await waits(event)
        yield

    async for _ in items():
        pass


async def awaits_when_closed(event: asyncio.Event) -> None:
    try:
        await waits(event)
    finally:
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("work", "name"),
    [
        (waits, "waits"),
        (waits_below, "waits"),
        (waits_below, "wait"),
        (waits_in_a_generator, "waits"),
        (waits_in_a_generator, "wait"),
        (awaits_when_closed, "awaits_when_closed"),
    ],
)
def test_a_loop_whose_tasks_were_closed_by_other_code_raises(
    work: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pi.base.guarded_loop.CHECK_SECONDS", 0.01)

    async def main() -> None:
        event = asyncio.Event()
        task = start_in_pi(work(event))
        await asyncio.sleep(0)
        close_all(name)
        await asyncio.wait({task})  # never returns by itself

    with pytest.raises(TasksClosed):
        run_guarded(main())


def close_all(name: str) -> None:
    """Close the suspended coroutines of that name, as code of an extension can."""
    found: list[CoroutineType[Any, Any, Any]] = [
        each
        for each in gc.get_objects()
        if type(each) is CoroutineType and each.__name__ == name and each.cr_frame is not None
    ]
    for each in found:
        with suppress(RuntimeError):  # it awaits something when it is closed
            each.close()


def test_tasks_that_wait_or_have_not_begun_are_not_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pi.base.guarded_loop.CHECK_SECONDS", 0.001)

    async def main() -> list[bool]:
        event = asyncio.Event()
        makers = (waits, waits_below, waits_in_a_generator, awaits_when_closed)
        tasks = [start_in_pi(each(event)) for each in makers]
        seen = [each.is_broken() for each in tasks if isinstance(each, GuardedTask)]
        await asyncio.sleep(0.005)
        seen += [each.is_broken() for each in tasks if isinstance(each, GuardedTask)]
        event.set()
        seen += [each.is_broken() for each in tasks if isinstance(each, GuardedTask)]
        await asyncio.gather(*tasks)
        return seen

    assert run_guarded(main()) == [False] * 12


@pytest.mark.parametrize("work", [waits, waits_below, waits_in_a_generator])
def test_coroutines_awaited_by_a_task_of_pi_cannot_be_closed_through_the_task(work: Any) -> None:
    async def main() -> None:
        event = asyncio.Event()
        task = start_in_pi(work(event))
        await asyncio.sleep(0)
        seen = 0
        at: Any = task.get_coro()
        while at is not None:
            at.close()
            seen += 1
            at = getattr(at, "cr_await", None)
        assert seen > 1
        event.set()
        await asyncio.wait_for(task, 5)

    run_guarded(main())

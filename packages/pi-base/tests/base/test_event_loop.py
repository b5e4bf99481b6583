from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from pi.base.event_loop import run_event_loop


def exit_with_a_frame() -> None:
    sys.exit(3)


@pytest.mark.parametrize("callback", [sys.exit, exit_with_a_frame])
def test_an_exit_of_a_callback_is_reported_once_and_the_loop_goes_on(
    callback: Callable[[], Any], caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> str:
        loop = asyncio.get_running_loop()
        for _ in range(3):
            loop.call_soon(callback)
            await asyncio.sleep(0)
        return "done"

    assert run_event_loop(main()) == "done"

    (line,) = caplog.messages
    assert line.startswith("Code of an extension raised SystemExit in a task or callback")
    assert line.endswith("; pi goes on.")
    assert (f"({__file__}, line " in line) == (callback is exit_with_a_frame)


def test_an_exception_of_a_callback_is_reported_in_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail() -> None:
        raise ValueError("broken")

    async def main() -> None:
        asyncio.get_running_loop().call_soon(fail)
        await asyncio.sleep(0)

    run_event_loop(main())

    (line,) = caplog.messages
    assert line.startswith("Exception in callback")
    assert line.endswith("ValueError('broken')")


def test_a_task_that_does_not_stop_is_abandoned_and_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def ignore_cancellation() -> None:
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(60)

    async def main() -> asyncio.Task[None]:
        task = asyncio.create_task(ignore_cancellation(), name="mule")
        await asyncio.sleep(0)
        return task

    run_event_loop(main(), grace=0.01)

    assert caplog.messages == ["Tasks did not stop within 0.01 seconds and were abandoned: mule."]

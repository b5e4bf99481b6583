"""Worker processes: answers, time limits, crashes, output of libraries."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from pi.extension import ExtensionAPI, PiError, WorkerProcess
from tests.coding.extension_host.extension_session import extension_session

WORK = "tests.coding.extension_host.worker_function:work"


async def worker(tmp_path: Path, scenario: Any, function: str = WORK) -> None:
    apis: list[ExtensionAPI] = []
    async with extension_session(tmp_path, apis.append):
        await scenario(WorkerProcess(apis[0], function))


async def test_concurrent_requests_get_their_own_answers(tmp_path: Path) -> None:
    async def scenario(made: WorkerProcess) -> None:
        both = (made.ask({"echo": ["ü", 2]}, seconds=30, answers=2), made.ask({}, seconds=30))
        first, (path,) = await asyncio.gather(*both)

        assert first == ["ü", 2]
        assert path == sys.path

    await worker(tmp_path, scenario)


async def test_printed_output_of_libraries_is_discarded(tmp_path: Path) -> None:
    async def scenario(made: WorkerProcess) -> None:
        (one,) = await made.ask({"print": "x" * 200_000}, seconds=30)
        (two,) = await made.ask({"print": "y"}, seconds=30)

        assert one == two != os.getpid()

    await worker(tmp_path, scenario)


@pytest.mark.parametrize(
    ("worker_call", "seconds", "arrived"),
    [({"hang": []}, 0.2, []), ({"crash": [1]}, 30, [1])],
    ids=["hangs", "crashes"],
)
async def test_missing_answers_are_left_out_and_the_process_is_replaced(
    tmp_path: Path, worker_call: Any, seconds: float, arrived: list[int]
) -> None:
    async def scenario(made: WorkerProcess) -> None:
        (before,) = await made.ask({"print": ""}, seconds=30)
        assert await made.ask(worker_call, seconds=seconds, answers=2) == arrived
        (after,) = await made.ask({"print": ""}, seconds=30)
        assert after != before

    await worker(tmp_path, scenario)


async def test_after_a_cancelled_request_the_next_one_has_its_own_answer(tmp_path: Path) -> None:
    async def scenario(made: WorkerProcess) -> None:
        await made.ask({"echo": [0]}, seconds=30)
        asking = asyncio.create_task(made.ask({"hang": [1]}, seconds=60, answers=2))
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

        assert await made.ask({"echo": [2]}, seconds=30) == [2]

    await worker(tmp_path, scenario)


async def test_a_function_that_cannot_be_imported_is_reported(tmp_path: Path) -> None:
    async def scenario(made: WorkerProcess) -> None:
        with pytest.raises(PiError, match=r"The process for no\.such:thing did not start\."):
            await made.ask({}, seconds=30)

    await worker(tmp_path, scenario, "no.such:thing")

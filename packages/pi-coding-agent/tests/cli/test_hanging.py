from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from pi.cli.worker_threads import join_threads, running_threads
from tests.cli.program import Program

HANGS = """
import asyncio, threading

def extension(pi):
    @pi.on("session_start")
    async def start(event, ctx):
        asyncio.get_running_loop().run_in_executor(None, threading.Event().wait)
"""


def test_joining_threads_does_not_wait_for_a_hanging_thread() -> None:
    before, go_on = set(running_threads()), threading.Event()

    async def begin() -> None:
        loop = asyncio.get_running_loop()
        loop.run_in_executor(None, go_on.wait)
        await loop.run_in_executor(None, list)
        join_threads(loop, grace_seconds=0.05)

    asyncio.run(begin())
    remaining = set(running_threads()) - before
    go_on.set()
    for thread in remaining:
        thread.join(30)

    assert remaining
    assert not any(thread.is_alive() for thread in remaining)


def test_joining_threads_of_a_loop_without_threads_returns() -> None:
    async def begin() -> None:
        join_threads(asyncio.get_running_loop())

    asyncio.run(begin())


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.behaviour("print-mode-exit-codes")
def test_the_program_ends_although_one_of_its_threads_hangs(cli: Program, tmp_path: Path) -> None:
    (tmp_path / "hangs.py").write_text(HANGS)

    ended = cli.run("-p", "--model", "mock/echo-3", "-e", str(tmp_path / "hangs.py"), "hello")

    assert ended == (0, "The quick brown\n", "")

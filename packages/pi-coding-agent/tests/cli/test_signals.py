from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import pytest

from pi.cli.signals import TerminatedBySignal, until_signal

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


async def test_without_a_signal_the_result_of_the_work_is_returned() -> None:
    async def work() -> int:
        return 7

    assert await until_signal(work()) == 7


@pytest.mark.behaviour("signals-shut-down")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
async def test_a_signal_ends_the_work_which_cleans_up_first(name: str) -> None:
    number = getattr(signal, name)
    steps: list[str] = []

    async def work() -> None:
        os.kill(os.getpid(), number)
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            steps.append("saved")

    with pytest.raises(TerminatedBySignal) as caught:
        await until_signal(work())

    assert (steps, caught.value.number, str(caught.value)) == (["saved"], number, name)


async def test_the_signal_handlers_are_restored_afterwards() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]

    await until_signal(asyncio.sleep(0))

    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


async def test_a_cancellation_from_outside_is_raised() -> None:
    task = asyncio.ensure_future(until_signal(asyncio.Event().wait()))
    await asyncio.sleep(0)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


STUCK = """\
import asyncio, signal, sys
from pi.cli.signals import until_signal

async def stuck():
    print("ready", flush=True)
    while True:
        try:
            while True:
                pass
        except KeyboardInterrupt:
            if sys.argv[2] == "gives up":
                raise
            print("goes on", flush=True)

try:
    asyncio.run(until_signal(stuck(), grace_seconds=float(sys.argv[1])))
except KeyboardInterrupt:
    print("closed", flush=True)
"""


@contextmanager
def stuck(patience: str, manner: str) -> Iterator[tuple[subprocess.Popen[str], IO[str]]]:
    """A program that no longer returns to its event loop, and its output."""
    argv = [sys.executable, "-c", STUCK, patience, manner]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            assert child.stdout.readline() == "ready\n"
            yield child, child.stdout
        finally:
            child.kill()


def test_ctrl_c_ends_a_function_that_never_returns() -> None:
    with stuck("0.05", "gives up") as (child, output):
        child.send_signal(signal.SIGINT)
        assert output.readline() == "closed\n"
        assert child.wait(timeout=60) == 0


def test_a_function_that_catches_the_interrupt_is_ended_with_the_program() -> None:
    with stuck("0.05", "goes on") as (child, output):
        child.send_signal(signal.SIGINT)
        assert output.readline() == "goes on\n"
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=60) == -signal.SIGINT


def test_another_signal_ends_a_function_that_never_returns() -> None:
    with stuck("0.05", "gives up") as (child, _):
        child.send_signal(signal.SIGTERM)
        assert child.wait(timeout=60) == -signal.SIGTERM

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from pi.base.processes import SpawnFailed
from pi.base.processes.terminal import run_attached
from tests.base.processes.children import exists


async def test_the_program_runs_to_its_end_in_our_process_group(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "open('seen', 'w').write(os.environ['NAME'])\n"
        "sys.exit(3 if os.getpgid(0) == os.getpgid(os.getppid()) else 4)"
    )

    ended = await run_attached([sys.executable, "-c", code], cwd=tmp_path, env={"NAME": "x"})

    assert (ended, (tmp_path / "seen").read_text()) == (3, "x")


async def test_a_missing_program_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SpawnFailed, match="no-such-editor"):
        await run_attached(["no-such-editor"], cwd=tmp_path, env={"PATH": ""})


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("name", ["SIGINT", "SIGQUIT"])
async def test_an_interrupt_key_that_ends_the_program_does_not_end_pi(
    tmp_path: Path, name: str
) -> None:
    number = signal.Signals[name]
    before = signal.getsignal(number)
    code = f"import os, signal; [os.kill(p, signal.{name}) for p in (os.getppid(), os.getpid())]"

    ended = await run_attached([sys.executable, "-c", code], cwd=tmp_path, env={})

    assert ended in (-number, 1), "Python makes SIGINT an exception"
    assert signal.getsignal(number) is before


async def test_a_program_whose_waiter_is_cancelled_is_ended(tmp_path: Path) -> None:
    code = "import os, time; print(os.getpid(), file=open('seen', 'w'), flush=True); time.sleep(60)"
    run = asyncio.create_task(run_attached([sys.executable, "-c", code], cwd=tmp_path, env={}))
    seen = tmp_path / "seen"
    async with asyncio.timeout(20):
        while not (seen.exists() and seen.read_text()):  # noqa: ASYNC110 - a file has no event
            await asyncio.sleep(0.01)

        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

        pid = int(seen.read_text())
        while exists(pid):  # noqa: ASYNC110 - it is reaped in a thread
            await asyncio.sleep(0.01)

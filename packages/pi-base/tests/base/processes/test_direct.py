from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from pi.base.processes.child import left_running
from scripts.workspace import ROOT
from tests.base.processes.children import alive, bash, eventually, needs_posix_shell

pytestmark = needs_posix_shell


async def test_a_detached_program_is_listed_while_it_runs() -> None:
    async with await bash("read", stdin="pipe", detached=True) as child:
        assert left_running() == [f"bash -c read (pid {child.pid})"]
        assert not child.is_gone
        child.close_stdin()
        await child.wait()

        assert (left_running(), child.is_gone) == ([], True)


async def test_background_processes_of_a_detached_program_can_be_terminated() -> None:
    async with await bash("sleep 300 & echo $!", detached=True) as child:
        background = int(await child.output.read())
        await child.wait()
        assert not child.is_gone
        await child.terminate()

        assert (child.is_gone, alive(background)) == (True, False)


def test_a_detached_program_survives_our_death(tmp_path: Path) -> None:
    program = (
        "import asyncio, os, sys; from pathlib import Path; from pi.base.processes import spawn\n"
        "async def main():\n"
        "    child = await spawn(['sleep', '600'], cwd=Path('/'), env=dict(os.environ),\n"
        "        output='null', detached=True)\n"
        "    print(child.pid, flush=True); await asyncio.Event().wait()\n"
        "asyncio.run(main())"
    )
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE) as us:
        assert us.stdout is not None
        pid = int(us.stdout.readline())
        us.kill()
    try:
        eventually(lambda: us.poll() is not None)
        assert alive(pid)
    finally:
        os.kill(pid, signal.SIGKILL)

from __future__ import annotations

import asyncio
import sys

import pytest

from pi.base.processes import BadFrame, spawn
from tests.base.processes.children import ENV, HERE, TIMEOUT_SECONDS, bash, needs_posix_shell

pytestmark = needs_posix_shell

KERNEL = "trap 'echo interrupted' INT; echo ready; while :; do sleep 0.05; done"


async def test_an_interrupt_reaches_the_whole_group_of_the_program() -> None:
    inner = "trap 'echo inner; exit' INT; echo ready; while :; do sleep 0.05; done"
    outer = f"trap 'echo outer' INT; bash -c \"{inner}\"; echo done"
    async with asyncio.timeout(TIMEOUT_SECONDS), await bash(outer) as child:
        assert await child.output.readline() == b"ready\n"
        child.interrupt()

        assert await child.output.read() == b"inner\nouter\ndone\n"


async def test_an_interrupted_python_program_keeps_running() -> None:
    # os.write, not print: a signal that arrives before print has returned from writing "ready"
    # makes a print in the handler fail with "reentrant call". The handler counts before it writes,
    # because the next signal may arrive before it has returned.
    program = (
        "import os, signal, time\n"
        "seen = []\n"
        "def note(*_):\n"
        "    seen.append(None)\n"
        "    os.write(1, b'%d\\n' % (len(seen) - 1))\n"
        "signal.signal(signal.SIGINT, note)\n"
        "os.write(1, b'ready\\n')\n"
        "while len(seen) < 2: time.sleep(0.01)\n"
    )
    command = [sys.executable, "-I", "-c", program]
    async with (
        asyncio.timeout(TIMEOUT_SECONDS),
        await spawn(command, cwd=HERE, env=ENV) as child,
    ):
        assert await child.output.readline() == b"ready\n"
        for n in range(2):
            child.interrupt()
            assert await child.output.readline() == f"{n}\n".encode()
        assert (await child.wait()).ok
        child.interrupt()  # it has ended: nothing happens


async def test_a_direct_child_is_interrupted_too() -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS), await bash(KERNEL, detached=True) as child:
        assert await child.output.readline() == b"ready\n"
        child.interrupt()
        assert await child.output.readline() == b"interrupted\n"


ECHO = [
    sys.executable,
    "-I",
    "-c",
    "import shutil, sys; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)",
]


@pytest.mark.parametrize("size", [0, 1, 600_000, 3_000_000])
async def test_frames_of_any_size_and_content_are_exchanged(size: int) -> None:
    data = (bytes(range(256)) * (size // 256 + 1))[:size]
    async with (
        asyncio.timeout(TIMEOUT_SECONDS),
        await spawn(ECHO, cwd=HERE, env=ENV, stdin="pipe", errors="separate") as child,
    ):
        writing = asyncio.create_task(child.write_frame(data))
        writing.add_done_callback(lambda _: child.close_stdin())

        assert await child.read_frame() == data
        assert await child.read_frame() is None


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (r"printf '\xff\xff\xff\xff'", "announced a frame of 4294967295 bytes"),
        (r"printf '\0\0\0\5abc'", "ends inside a frame"),
        (r"printf '\0\0'", "ends inside a frame"),
    ],
)
async def test_a_broken_frame_is_reported(script: str, why: str) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS), await bash(script) as child:
        with pytest.raises(BadFrame, match=why):
            await child.read_frame()

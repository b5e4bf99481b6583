"""One kernel: prints start (ms), round trip (ms), 3 MB of output (ms), interrupt (ms), memory (MB).

The first argument is ``python``, ``javascript`` or ``bare``: the last one starts the interpreter
without the runner and exchanges lines, which is the least that could be done.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from pi.base.clock import SystemClock
from pi.base.processes import Child, spawn
from pi.batteries.python_kernel.kernel import Frame, Kernel
from pi.batteries.python_kernel.process import (
    JAVASCRIPT_RUNNER,
    PYTHON_RUNNER,
    ProcessConnection,
)
from pi.coding.extension_host.scope import Scope

ROUNDS = 200
BARE = """\
import sys
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
"""
COMMANDS = {
    "python": (sys.executable, str(PYTHON_RUNNER)),
    "javascript": (
        *("/bin/sh", "-c", 'exec "$@" 3>&1 4<&0 1>&2 0</dev/null', "sh"),
        *(shutil.which("node") or "node", str(JAVASCRIPT_RUNNER)),
    ),
    "bare": (sys.executable, "-u", "-c", BARE),
}
LARGE = {
    "python": "for n in range(30_000): print(f'{n:<99}')",
    "javascript": "for (let n = 0; n < 30000; n++) console.log(String(n).padEnd(99))",
    "bare": "for n in range(30_000): print(f'{n:<99}')",
}
ENDLESS = {
    "python": "print('begun', flush=True)\nwhile True: pass",
    "javascript": "console.log('begun'); while (true) {}",
}


async def milliseconds(work: Callable[[], Awaitable[object]]) -> float:
    """How long something takes."""
    begun = time.perf_counter()
    await work()
    return (time.perf_counter() - begun) * 1000


def memory(pid: int) -> float:
    """Resident memory of a process in MB; 0 without ``/proc``."""
    path = Path(f"/proc/{pid}/statm")
    pages = int(path.read_text().split()[1]) if path.exists() else 0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def measure(language: str) -> list[float]:
    """The figures of a kernel."""
    scope = Scope(SystemClock(), name="bench", report=lambda *failure: None)
    children: list[Child] = []

    async def start(inner: Scope) -> Child:
        environ = {"PATH": os.environ["PATH"]}
        child = await spawn(
            COMMANDS[language], cwd=Path.cwd(), env=environ, stdin="pipe", errors="separate"
        )
        inner.on_close(lambda: child.__aexit__(None))
        children.append(child)
        return child

    kernel = Kernel(lambda inner: ProcessConnection(start, inner, label=""), scope, label="")
    await kernel.start()  # the supervisor starts with the first program
    await kernel.reset()
    begin = await milliseconds(kernel.start)
    size = 0

    def count(frame: Frame) -> None:
        nonlocal size
        size += len(frame.get("text", ""))

    async def rounds() -> None:
        for _ in range(ROUNDS):
            await kernel.run("x = 1", count)

    trip = await milliseconds(rounds) / ROUNDS
    large = await milliseconds(lambda: kernel.run(LARGE[language], count))
    assert size == 3_000_000, size
    used = memory(children[-1].pid)
    stop = await interrupted(kernel, ENDLESS[language])
    await scope.close()
    return [begin, trip, large, stop, used]


async def interrupted(kernel: Kernel, code: str) -> float:
    """How long a busy cell takes to end."""
    begun = asyncio.Event()
    task = asyncio.ensure_future(kernel.run(code, lambda frame: begun.set()))
    await begun.wait()
    task.cancel()

    async def end() -> None:
        await asyncio.wait([task])

    return await milliseconds(end)


async def measure_bare() -> list[float]:
    """The same with an interpreter alone; it cannot be interrupted."""
    begun = time.perf_counter()
    child = await spawn(
        COMMANDS["bare"], cwd=Path.cwd(), env={"PATH": os.environ["PATH"]}, stdin="pipe"
    )

    async def run(code: str) -> None:
        await child.write(code.encode() + b"\n")
        while (await child.output.readline()).strip() != b"done":
            pass

    await run("pass")
    begin = (time.perf_counter() - begun) * 1000

    async def rounds() -> None:
        for _ in range(ROUNDS):
            await run("x = 1")

    trip = await milliseconds(rounds) / ROUNDS
    large = await milliseconds(lambda: run(LARGE["bare"]))
    used = memory(child.pid)
    await child.terminate()
    return [begin, trip, large, 0.0, used]


if __name__ == "__main__":
    chosen = sys.argv[1]
    figures = asyncio.run(measure_bare() if chosen == "bare" else measure(chosen))
    sys.stdout.write(" ".join(f"{each:.3f}" for each in figures) + "\n")

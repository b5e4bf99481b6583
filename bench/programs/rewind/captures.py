"""Calls of bash in a project of many files: ``captures on|off FILES CALLS``.

Prints what one call takes in ms, the CPU time of this process for it in ms, the longest time that
the event loop did not react in ms, the first prompt until its answer in ms, and how late the event
loop was in 99 of 100 cases in ms: a key waits as long.
"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pi.base.clock import SystemClock
from pi.batteries.rewind.adapter import extension
from pi.testing import calls, make_session, says

FOLDER_FILES = 100
CONTENT = b"a line of a program\n" * 250


def fill(folder: Path, files: int) -> None:
    """Make a project of files of 5 kB, 100 in a folder."""
    for number in range(files // FOLDER_FILES):
        inner = folder / f"part{number % 20}" / f"package{number}"
        inner.mkdir(parents=True)
        for name in range(FOLDER_FILES - 1):
            (inner / f"module{name}.py").write_bytes(b"%d %d\n" % (number, name) + CONTENT)
    (folder / ".gitignore").write_text("build/\n*.pyc\n/dist\n.env*\n")


async def watch(gaps: list[float]) -> None:
    """Note how late a timer of one millisecond is."""
    while True:
        begun = time.perf_counter()
        await asyncio.sleep(0.001)
        gaps.append(time.perf_counter() - begun - 0.001)


async def main(kind: str, files: int, count: int) -> None:
    """Two prompts to fill the store, then a prompt with all calls."""
    settings: dict[str, Any] = {"rewind": {"enabled": kind == "on"}}
    call = calls("bash", command="true")
    steps = [says("hello"), call, says("ready"), *(call for _ in range(count)), says("done")]
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        fill(project, files)
        made = await make_session(
            Path(folder), *steps, clock=SystemClock(), extensions=[extension], settings=settings
        )
        async with made as session:
            await session.start()
            begun = time.perf_counter()
            await session.prompt("begin")
            first = time.perf_counter() - begun
            await session.prompt("wait until all files are saved")
            gaps: list[float] = []
            watching = asyncio.ensure_future(watch(gaps))
            begun, cpu = time.perf_counter(), time.process_time()
            await session.prompt("go")
            wall = (time.perf_counter() - begun) / count * 1e3
            spent = (time.process_time() - cpu) / count * 1e3
            watching.cancel()
            late = sorted(gaps)[len(gaps) * 99 // 100]
            print(wall, spent, max(gaps) * 1e3, first * 1e3, late * 1e3)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))

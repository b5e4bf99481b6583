"""Runs the same sessions with ``create_agent_session`` alone: ``bare TASKS AT_A_TIME``.

Prints the CPU time per session in ms and the peak memory in MB.
"""

import asyncio
import resource
import sys
import time
from pathlib import Path

from bench.programs.batch.model import extension, home
from pi.sdk import SessionManager, create_agent_session


async def prompt(folder: Path) -> None:
    """Run one session in a folder of its own."""
    folder.mkdir()
    created = await create_agent_session(
        cwd=folder,
        model="faux/faux",
        extensions=[extension],
        session_manager=SessionManager.create(folder, folder.parent / "sessions"),
        trust=False,
    )
    async with created.session as session:
        await session.prompt("say a word")


async def main(count: int, at_a_time: int) -> None:
    """Run ``count`` sessions."""
    with home() as folder:
        cpu = time.process_time()
        for first in range(0, count, at_a_time):
            numbers = range(first, min(first + at_a_time, count))
            await asyncio.gather(*(prompt(folder / str(number)) for number in numbers))
        cpu = time.process_time() - cpu
        print(cpu / count * 1e3, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)


asyncio.run(main(*map(int, sys.argv[1:3])))

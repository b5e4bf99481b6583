"""Reloads a session with ten extensions again and again: ``reloading TIMES``.

Prints how much memory, in MB, is in use after that.
"""

import asyncio
import gc
import sys
import tracemalloc

from bench.programs.extensions.folders import folder_with
from pi.base.clock import SystemClock
from pi.testing import make_session

EXTENSIONS = 10


async def main(times: int) -> None:
    """Print the memory that is allocated at the end."""
    tracemalloc.start()
    with folder_with(EXTENSIONS) as folder:
        session = await make_session(folder, clock=SystemClock())
        await session.start()
        for _ in range(times):
            await session.sessions.reload()
        gc.collect()
        print(tracemalloc.get_traced_memory()[0] / 1e6)
        await session.close()


asyncio.run(main(int(sys.argv[1])))

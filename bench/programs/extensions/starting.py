"""Opens a session with so many trivial extensions: ``starting EXTENSIONS``.

Prints the CPU time, in ms, of opening and starting it, apart from what every session imports.
"""

import asyncio
import gc
import sys
import time

from bench.programs.extensions.folders import folder_with
from pi.testing import make_session


async def main(extensions: int) -> None:
    """Open a session with one extension, then one with ``extensions``."""
    gc.disable()  # as the program does it
    for number in (1, extensions):
        with folder_with(number) as folder:
            before = time.process_time()
            session = await make_session(folder)
            await session.start()
            took = time.process_time() - before
            found = [info for info in session.extensions.infos() if info.state == "loaded"]
            assert len(found) == number
            await session.close()
    print(took * 1e3)


asyncio.run(main(int(sys.argv[1])))

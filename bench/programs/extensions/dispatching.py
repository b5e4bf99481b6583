"""Dispatches an event to the handlers of so many extensions: ``dispatching HANDLERS sync|async``.

Prints the CPU time, in ms, that one event takes.
"""

import asyncio
import sys
import time

from bench.programs.extensions.folders import folder_with
from pi.extension import AgentStartEvent
from pi.testing import make_session

EVENTS = 1000


async def main(handlers: int, kind: str) -> None:
    """Dispatch the same event again and again."""
    with folder_with(handlers, "def" if kind == "sync" else "async def") as folder:
        session = await make_session(folder)
        bus, event = session.extensions.hosting.host.bus, AgentStartEvent()
        assert len(bus.subscribers(AgentStartEvent)) == handlers
        before = time.process_time()
        for _ in range(EVENTS):
            await bus.emit(event)
        print((time.process_time() - before) * 1e3 / EVENTS)
        await session.close()


asyncio.run(main(int(sys.argv[1]), sys.argv[2]))

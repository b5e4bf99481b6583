"""Calls so many handlers with no host: ``bare_dispatching HANDLERS sync|async``.

Prints the CPU time, in ms, that one event takes.
"""

import asyncio
import sys
import time

EVENTS = 1000


def handle(event: object, ctx: object) -> None:
    """A sync handler."""


async def handle_async(event: object, ctx: object) -> None:
    """An async handler."""


async def main(handlers: int, kind: str) -> None:
    """Emit the same event again and again."""
    event = object()
    before = time.process_time()
    for _ in range(EVENTS):
        for _ in range(handlers):
            if kind == "sync":
                handle(event, None)
            else:
                await handle_async(event, None)
    print((time.process_time() - before) * 1e3 / EVENTS)


asyncio.run(main(int(sys.argv[1]), sys.argv[2]))

"""The answer of ``deltas`` with nothing around it: ``bare_deltas DELTAS``."""

import asyncio
import sys

from bench.programs.agent.in_memory import streaming, talkative


async def main(deltas: int) -> None:
    """Read the stream and print how many events came."""
    count = 0
    async for _ in streaming(talkative(deltas)):
        count += 1
    print(count)


asyncio.run(main(int(sys.argv[1])))

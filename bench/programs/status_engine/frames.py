"""Milliseconds by which the latest of 180 frames was late: ``frames COMMAND``, or ``frames`` alone.

The command is started again as soon as the last one was ended; 60 frames a second are drawn.
"""

from __future__ import annotations

import asyncio
import sys
import time

from bench.programs.status_engine.playing import playing

FRAMES, EACH = 180, 1 / 60


async def latest(command: str) -> float:
    """The delay of the latest frame, in milliseconds."""
    setting = {
        "provider": "command",
        "command": command,
        "commandTimeoutMs": 150,
        "refreshMs": 300,
    }
    late = []
    async with playing(setting if command else {}) as play:
        for _ in range(FRAMES):
            due = time.perf_counter() + EACH
            await asyncio.sleep(EACH)
            play.rows.frame()
            late.append((time.perf_counter() - due) * 1000)
    return max(late)


if __name__ == "__main__":
    print(asyncio.run(latest(" ".join(sys.argv[1:]))))

"""Microseconds of CPU of a frame in which nothing has changed: ``frame_cost on``, or ``off``."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

from bench.programs.status_engine.playing import playing

FRAMES = 5000


async def cost(setting: Any) -> float:
    """Microseconds of CPU of one frame."""
    async with playing(setting) as play:
        play.rows.frame()
        began = time.process_time()
        for _ in range(FRAMES):
            play.rows.frame()
        return (time.process_time() - began) / FRAMES * 1e6


if __name__ == "__main__":
    print(asyncio.run(cost({} if sys.argv[1] == "on" else None)))

"""Milliseconds between a stopwatch and the status, after so many seconds: ``accuracy 6``.

The greater of two: of the engine's own total, and of the time that JSON mode and RPC put on events.
"""

from __future__ import annotations

import asyncio
import sys
import time

from bench.programs.status_engine.playing import playing


async def error(seconds: float) -> float:
    """The error in milliseconds."""
    began = time.perf_counter()
    async with playing({}) as play:
        await asyncio.sleep(seconds)
        play.rows.frame()
        stopwatch = (time.perf_counter() - began) * 1000
        reported = (
            play.pi.service("status_engine").total_duration_ms,
            play.session.since_session_ms(),
        )
    return max(abs(stopwatch - each) for each in reported)


if __name__ == "__main__":
    print(asyncio.run(error(float(sys.argv[1]))))

"""Milliseconds within which 95 % of the answers of a command come: ``latency SECONDS``.

The command sleeps that long before it answers; it is run as the engine runs it.
"""

from __future__ import annotations

import asyncio
import sys
import time

from bench.programs.status_engine.playing import playing
from pi.batteries.status_engine.engine import payload
from pi.batteries.status_engine.items import StatusEngineState
from pi.batteries.status_engine.sources import command_source

TIMEOUT_MS = 10_000
"""Longer than the engine's own limit, so that slower answers are measured too."""
QUESTIONS = 40


async def latency(seconds: str) -> float:
    """The 95th percentile."""
    facts = payload(StatusEngineState(cwd="/somewhere"), total_duration_ms=0, version="")
    took = []
    async with playing(None) as play:
        command = f"cat > /dev/null; sleep {seconds}; echo ok"
        ask = command_source(command, play.pi.exec, timeout_ms=TIMEOUT_MS)
        for _ in range(QUESTIONS):
            began = time.perf_counter()
            await ask(facts)
            took.append((time.perf_counter() - began) * 1000)
    return sorted(took)[round(len(took) * 0.95) - 1]


if __name__ == "__main__":
    print(asyncio.run(latency(sys.argv[1])))

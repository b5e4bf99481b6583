"""Milliseconds of drawing: ``drawing FRAMES``.

Prints the longest time for which the event loop did not run while so many full pictures were made
in a thread, and the CPU time of one picture. Without pictures the loop only waits.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import pi.ai
from pi.batteries.snapcompact.frames import draw, paginate
from pi.batteries.snapcompact.history import Piece
from pi.batteries.snapcompact.shapes import SHAPES

SHAPE = SHAPES["6x12-dim"]
IDLE_SECONDS = 0.2


def text(characters: int) -> str:
    """Source code in one line."""
    files = sorted(Path(pi.ai.__file__).parent.rglob("*.py"))
    code = " ".join(" ".join(file.read_text(encoding="utf-8").split()) for file in files[:200])
    return (code * (characters // len(code) + 1))[:characters]


async def longest_pause(done: asyncio.Event) -> float:
    """The longest time between two steps of the loop, beyond what was asked for."""
    longest, wait = 0.0, 0.001
    while not done.is_set():
        began = time.perf_counter()
        await asyncio.sleep(wait)
        longest = max(longest, time.perf_counter() - began - wait)
    return longest * 1000


async def main(frames: int) -> None:
    """Print the figures."""
    done = asyncio.Event()
    pause = asyncio.create_task(longest_pause(done))
    began = time.process_time()
    if frames:
        pieces = [Piece(text=text(SHAPE.capacity * frames - 2))]
        printed = await asyncio.to_thread(paginate, pieces, SHAPE)
        for page in printed.pages:
            await asyncio.to_thread(draw, page, SHAPE)
    else:
        await asyncio.sleep(IDLE_SECONDS)
    spent = (time.process_time() - began) * 1000 / max(1, frames)
    done.set()
    print(await pause, spent)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))

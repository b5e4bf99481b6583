"""The program inside tmux: says numbered lines as fast as they are painted, then ends."""

from __future__ import annotations

import asyncio
import os

from pi.tui.terminals.posix import ProcessTerminal
from pi.tui.tui import TUI
from tests.tui.stress.world import Chrome, Transcript, World

LINES = 250
ENDED = "all is said"

_TEXTS = ("short", "", "中文 and so on " * 3, "words that have to be wrapped around " * 3)


async def main() -> None:
    world = World(0)
    world.footer = 2
    tui = TUI(ProcessTerminal(env=os.environ), env=os.environ, strict=True)
    tui.add_child(Transcript(world))
    tui.add_child(Chrome(world))
    world.add_block(0, is_final=False)
    with tui:
        for number in range(LINES):
            world.live().lines.append(f"#{number:04} {_TEXTS[number * 7 % 4]}")
            tui.request_render()
            await asyncio.sleep(0.01)
        world.live().is_final = True
        world.add_block(0, is_final=True)
        world.blocks[-1].lines.append(ENDED)
        tui.request_render()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())

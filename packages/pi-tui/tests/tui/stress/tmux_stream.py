"""The program inside tmux: prints numbered lines as fast as they are painted, then ends."""

from __future__ import annotations

import asyncio
import os

from pi.tui.terminals.posix import ProcessTerminal
from pi.tui.tui import TUI
from tests.tui.stress.simulated_app import Chrome, SimulatedApp, Transcript

LINES = 250
ENDED = "all is said"

_TEXTS = ("short", "", "中文 and so on " * 3, "words that have to be wrapped around " * 3)


async def main() -> None:
    app = SimulatedApp(0)
    app.footer = 2
    tui = TUI(ProcessTerminal(env=os.environ), env=os.environ, strict=True)
    tui.add_child(Transcript(app))
    tui.add_child(Chrome(app))
    app.add_block(0, is_final=False)
    with tui:
        for number in range(LINES):
            app.live().lines.append(f"#{number:04} {_TEXTS[number * 7 % 4]}")
            tui.request_render()
            await asyncio.sleep(0.01)
        app.live().is_final = True
        app.add_block(0, is_final=True)
        app.blocks[-1].lines.append(ENDED)
        tui.request_render()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())

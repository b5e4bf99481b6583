"""The program that ``PtyProgram`` starts: shows typed keys; some keys end it.

With ``DEMO_FULLSCREEN`` it uses fullscreen mode, and prints at exit what was shown there.
"""

from __future__ import annotations

import asyncio
import os
import sys
import warnings

from pi.tui.fullscreen.display import FullscreenDisplay
from pi.tui.terminals.posix import ProcessTerminal
from pi.tui.tui import TUI


class Typed:
    """Shows the typed keys and runs the commands of some of them."""

    def __init__(self) -> None:
        self.focused = False
        self.keys: list[str] = []
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.tui: TUI | None = None

    def render(self, width: int) -> list[str]:
        size = self.tui.terminal.size if self.tui else None
        return ["ready", f"{size}", *(f"key {key!r}" for key in self.keys)]

    def invalidate(self) -> None:
        pass

    def handle_input(self, data: str) -> None:
        self.keys.append(data)
        match data:
            case "q":
                self.done.set_result(None)
            case "x":
                self.done.set_exception(ValueError("broken"))
            case "z" if self.tui:
                self.tui.suspend()
            case "w":
                warnings.warn("a library warns", stacklevel=1)
                os.system("echo a child prints")


async def main() -> None:
    typed = Typed()
    tui = TUI(
        ProcessTerminal(env=os.environ),
        env=os.environ,
        mode="fullscreen" if "DEMO_FULLSCREEN" in os.environ else "regular",
        on_disconnect=lambda: typed.done.set_result(None),
    )
    if isinstance(tui.display, FullscreenDisplay):
        tui.display.exit_rows = lambda width: ["what was shown"]
    typed.tui = tui
    tui.add_child(typed)
    tui.set_focus(typed)
    with tui:
        await typed.done
    sys.stdout.write("over\n")


if __name__ == "__main__":
    asyncio.run(main())

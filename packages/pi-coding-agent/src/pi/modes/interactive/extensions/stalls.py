"""Reports code of an extension that blocks the event loop."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pi.base.terminal_text import one_line
from pi.modes.interactive.theme import Theme
from pi.tui.input.keys import find_key
from pi.tui.terminal import Size
from pi.tui.text.width import truncate_to_width
from pi.tui.tui import TUI

if TYPE_CHECKING:
    from pi.coding.extension_host.watchdog import Stalled


LOOK_SECONDS = 0.1
"""Interval at which pressed keys are read."""


@runtime_checkable
class ThreadSafeTerminal(Protocol):
    """A terminal that another thread can use while the event loop is blocked."""

    @property
    def size(self) -> Size:
        """The current size."""
        ...

    @property
    def backlog(self) -> int:
        """Characters that are written but not yet sent."""
        ...

    def write(self, data: str) -> None:
        """Send characters."""
        ...

    def read_aside(self, consume: Callable[[bytes], bytes]) -> None:
        """Read input. What ``consume`` returns is handled when the event loop continues."""
        ...


class StallHandler:
    """Shows which extension blocks the event loop, and handles Ctrl+C.

    The watchdog calls it in its thread; it returns when the extension no longer blocks.
    """

    def __init__(self, tui: TUI, terminal: ThreadSafeTerminal, theme: Theme) -> None:
        self._tui = tui
        self._terminal = terminal
        self._theme = theme
        self._loop = asyncio.get_running_loop()

    def __call__(self, stalled: Stalled) -> None:
        """Let the user end the blocking extension; a second Ctrl+C quits pi."""
        name = stalled.owner.name
        self._show(f"Extension {name} is blocking in {stalled.function}. Ctrl+C stops it.")
        presses = 0
        while not stalled.over.wait(LOOK_SECONDS):
            before, presses = presses, presses + self._presses()
            if presses and not before:
                stalled.end()
                self._show(f"Stopping extension {name}. Press Ctrl+C again to quit.")
            elif presses > before:
                os.kill(os.getpid(), signal.SIGTERM)
        self._loop.call_soon_threadsafe(partial(self._tui.request_render, force=True))

    def _presses(self) -> int:
        """Return how often Ctrl+C was pressed; other keys are kept for the event loop."""
        presses = 0

        def count_presses(data: bytes) -> bytes:
            nonlocal presses
            rest, presses = find_key(data, "ctrl+c")
            return rest

        self._terminal.read_aside(count_presses)
        return presses

    def _show(self, text: str) -> None:
        """Overwrite the last row; the whole window is painted again afterwards."""
        if self._terminal.backlog:  # it would be written in the middle of a sequence
            return
        size = self._terminal.size
        line = self._theme.paint("warning")(truncate_to_width(one_line(text), size.columns - 1))
        self._terminal.write(f"\x1b7\x1b[{size.rows};1H\x1b[2K{line}\x1b8")


def stall_handler(tui: TUI, theme: Theme) -> StallHandler | None:
    """Return the watchdog, if the terminal can be used from another thread."""
    terminal = tui.terminal
    return StallHandler(tui, terminal, theme) if isinstance(terminal, ThreadSafeTerminal) else None

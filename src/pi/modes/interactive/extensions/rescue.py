"""While an extension hangs: a line that names it, and Ctrl+C, from a thread beside it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pi.base.terminal_text import one_line
from pi.modes.interactive.theme import Theme
from pi.tui.input.picking import pick_key
from pi.tui.terminal import Size
from pi.tui.text.slicing import truncate_to_width
from pi.tui.tui import TUI

if TYPE_CHECKING:  # loaded with the first extension
    from pi.coding.extension_host.stalls import Stalled

LOOK_SECONDS = 0.1
"""Between two looks at the keys that were pressed."""


@runtime_checkable
class Aside(Protocol):
    """A terminal that another thread can use while the program hangs."""

    @property
    def size(self) -> Size:
        """The size now."""
        ...

    @property
    def backlog(self) -> int:
        """Characters that were written but not taken yet."""
        ...

    def write(self, data: str) -> None:
        """Send characters."""
        ...

    def read_aside(self, take: Callable[[bytes], bytes]) -> None:
        """Read what was typed; what ``take`` leaves of it reaches the program when it goes on."""
        ...


class Rescue:
    """Called by the watch over extensions, in its thread; returns when nothing hangs any more."""

    def __init__(self, tui: TUI, terminal: Aside, theme: Theme) -> None:
        self._tui = tui
        self._terminal = terminal
        self._theme = theme
        self._loop = asyncio.get_running_loop()

    def __call__(self, stalled: Stalled) -> None:
        """Let the person end what hangs; if it defies that, let them end pi."""
        name = stalled.owner.name
        self._show(f"{name} does not return from {stalled.function}. Ctrl+C ends it.")
        presses = 0
        while not stalled.over.wait(LOOK_SECONDS):
            before, presses = presses, presses + self._presses()
            if presses and not before:
                stalled.end()
                self._show(f"{name} is being ended. If it defies that, Ctrl+C again ends pi.")
            elif presses > before:
                os.kill(os.getpid(), signal.SIGTERM)
        self._loop.call_soon_threadsafe(partial(self._tui.request_render, force=True))

    def _presses(self) -> int:
        """How often Ctrl+C was pressed since the last look; other keys wait for the program."""
        presses = 0

        def take(data: bytes) -> bytes:
            nonlocal presses
            rest, presses = pick_key(data, "ctrl+c")
            return rest

        self._terminal.read_aside(take)
        return presses

    def _show(self, text: str) -> None:
        """Write over the last row; the whole window is painted again afterwards."""
        if self._terminal.backlog:  # it would end up in the middle of something else
            return
        size = self._terminal.size
        line = self._theme.paint("warning")(truncate_to_width(one_line(text), size.columns - 1))
        self._terminal.write(f"\x1b7\x1b[{size.rows};1H\x1b[2K{line}\x1b8")


def rescue_on(tui: TUI, theme: Theme) -> Rescue | None:
    """What to do while an extension hangs, if the terminal lets another thread help."""
    terminal = tui.terminal
    return Rescue(tui, terminal, theme) if isinstance(terminal, Aside) else None

"""A program on a virtual terminal with manual timers."""

from __future__ import annotations

from collections.abc import Mapping

from pi.tui.testing import VirtualTerminal
from pi.tui.tui import TUI
from tests.tui.manual_timers import ManualTimers
from tests.tui.parts import Rows


class Program:
    """Components on a small terminal."""

    def __init__(
        self, *children: Rows, env: Mapping[str, str] | None = None, replies: bool = False
    ) -> None:
        self.timers = ManualTimers()
        self.terminal = VirtualTerminal(20, 6, replies=replies)
        self.gone = False
        self.tui = TUI(self.terminal, env=env or {}, strict=True, on_disconnect=self._end)
        for child in children:
            self.tui.add_child(child)
        self.tui.start(self.timers)

    def _end(self) -> None:
        self.gone = True

    def shown(self) -> list[str]:
        self.timers.advance(0.5)
        return [row for row in self.terminal.screen if row]

    def writes(self) -> list[str]:
        """Returns what is written in the next half second."""
        before = len(self.terminal.output)
        self.timers.advance(0.5)
        return self.terminal.output[before:]

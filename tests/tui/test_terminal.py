from __future__ import annotations

from pi.testing.virtual_terminal import VirtualTerminal
from pi.tui.terminal import Size, Terminal


def test_the_virtual_terminal_is_a_terminal() -> None:
    terminal: Terminal = VirtualTerminal(30, 7)

    assert (terminal.size, terminal.backlog) == (Size(columns=30, rows=7), 0)

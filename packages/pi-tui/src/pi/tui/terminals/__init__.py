"""Real terminals: POSIX, Windows, tmux."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pi.tui.terminal import Terminal


def own_terminal(env: Mapping[str, str], *, platform: str) -> Terminal:
    """Return the terminal of the process for a system (``sys.platform``)."""
    from pi.tui.terminals.posix import ProcessTerminal, not_a_terminal

    if platform != "win32":
        return ProcessTerminal(env=env)
    # Deferred: used on Windows only.
    import ctypes

    from pi.tui.terminals.windows import KernelConsole, WindowsTerminal

    try:
        return WindowsTerminal(KernelConsole(getattr(ctypes, "windll").kernel32))  # noqa: B009
    except (OSError, AttributeError):
        raise not_a_terminal() from None

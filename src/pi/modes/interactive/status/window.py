"""What the window around the terminal is told: its title, progress, and that a run has ended."""

from __future__ import annotations

from collections.abc import Callable

from pi.base.terminal_text import one_line
from pi.tui.capabilities import Capabilities

LONG_RUN = 20.0
"""Seconds after which somebody has probably gone to do something else."""

_BEL, _ST = "\x07", "\x1b\\"


class Window:
    """Writes to the terminal beside the screen. Nothing of it takes a cell."""

    def __init__(self, write: Callable[[str], None], capabilities: Capabilities) -> None:
        self._write = write
        self._capabilities = capabilities
        self._usual = ""
        self._other = ""
        self._title = ""
        self._progress = False

    def set_title(self, folder: str, session_name: str = "") -> None:
        """Name the window by the session and the folder."""
        name = f"{one_line(session_name)} - " if session_name else ""
        self._usual = f"π - {name}{one_line(folder)}"
        self._show_title()

    def override(self, title: str) -> None:
        """Call the window something else; empty brings its usual name back."""
        self._other = one_line(title)
        self._show_title()

    def set_progress(self, *, is_busy: bool) -> None:
        """Show in the task bar that something goes on."""
        if is_busy != self._progress:
            self._progress = is_busy
            self._write(f"\x1b]9;4;{3 if is_busy else 0};0{_BEL}")

    def notify(self, text: str) -> None:
        """Tell somebody who looks elsewhere; what the terminal does not know is a bell."""
        if not self._capabilities.notifications:
            return
        text = one_line(text)
        match self._capabilities.brand:
            case "kitty":
                sequence = f"\x1b]99;;{text}{_ST}"
            case "iterm2" | "ghostty" | "wezterm" | "warp" | "foot":
                sequence = f"\x1b]9;{text}{_BEL}"
            case _:
                sequence = _BEL
        self._write(sequence)

    def _show_title(self) -> None:
        title = self._other or self._usual
        if title != self._title:
            self._title = title
            self._write(f"\x1b]0;{title}{_BEL}")

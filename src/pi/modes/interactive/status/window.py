"""What the window around the terminal is told: its title, progress, and that a run has ended."""

from __future__ import annotations

from collections.abc import Callable

from pi.base.terminal_text import one_line
from pi.tui.capabilities import Capabilities
from pi.tui.sequences import notification, progress, title

LONG_RUN = 20.0
"""Seconds after which somebody has probably gone to do something else."""


class Window:
    """Writes to the terminal beside the screen. Nothing of it takes a cell.

    ``watch`` begins to find out whether somebody looks at it, ``is_seen`` tells whether that is so.
    """

    def __init__(
        self,
        write: Callable[[str], None],
        capabilities: Capabilities,
        *,
        watch: Callable[[], None] = lambda: None,
        is_seen: Callable[[], bool] = lambda: False,
    ) -> None:
        self._write = write
        self._capabilities = capabilities
        self._watch = watch
        self._is_seen = is_seen
        self._usual = ""
        self._other = ""
        self._title = ""
        self._progress = False

    def set_title(self, folder: str, session_name: str = "") -> None:
        """Name the window by the session and the folder."""
        name = f"{one_line(session_name)} - " if session_name else ""
        self._usual = f"π - {name}{one_line(folder)}"
        self._show_title()

    def override(self, name: str) -> None:
        """Call the window something else; empty brings its usual name back."""
        self._other = one_line(name)
        self._show_title()

    def set_progress(self, *, is_busy: bool) -> None:
        """Show in the task bar that something goes on."""
        if is_busy != self._progress:
            self._progress = is_busy
            self._write(progress("indeterminate" if is_busy else "none"))

    def watch(self) -> None:
        """Work begins: notice from now on whether somebody looks elsewhere meanwhile."""
        if self._capabilities.notifications:
            self._watch()

    def notify(self, text: str) -> None:
        """Tell somebody who looks elsewhere; what the terminal does not know is a bell."""
        if self._capabilities.notifications and not self._is_seen():
            self._write(notification(text, self._capabilities.brand))

    def farewell(self) -> str:
        """What it is told whenever the terminal is given back: its title, and no progress."""
        shown, self._progress = self._progress, False
        return (progress("none") if shown else "") + (title(self._title) if self._title else "")

    def _show_title(self) -> None:
        shown = self._other or self._usual
        if shown != self._title:
            self._title = shown
            self._write(title(shown))

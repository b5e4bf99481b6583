"""The title of the terminal window, and its notification after long runs."""

from __future__ import annotations

from collections.abc import Callable

from pi.base.terminal_text import one_line
from pi.tui.desktop import notification, progress, title
from pi.tui.terminal import Capabilities

LONG_RUN = 20.0
"""Seconds after which the user has probably switched to another window."""


class WindowTitle:
    """Writes sequences for the title, the progress and notifications of the terminal window.

    ``watch`` starts focus reporting, ``is_seen`` returns whether the window has the focus.
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
        """Set the title from the session and the folder."""
        name = f"{one_line(session_name)} - " if session_name else ""
        self._usual = f"π - {name}{one_line(folder)}"
        self._show_title()

    def override(self, name: str) -> None:
        """Set the title; empty restores the default."""
        self._other = one_line(name)
        self._show_title()

    def set_progress(self, *, is_busy: bool) -> None:
        """Show progress in the task bar."""
        if is_busy != self._progress:
            self._progress = is_busy
            self._write(progress("indeterminate" if is_busy else "none"))

    def watch(self) -> None:
        """A run started: report focus changes from now on."""
        if self._capabilities.notifications:
            self._watch()

    def notify(self, text: str) -> None:
        """Notify the user if the window has no focus; falls back to the bell."""
        if self._capabilities.notifications and not self._is_seen():
            self._write(notification(text, self._capabilities.brand))

    def farewell(self) -> str:
        """Sequences that restore the title and clear the progress."""
        had_progress, self._progress = self._progress, False
        return (progress("none") if had_progress else "") + (
            title(self._title) if self._title else ""
        )

    def _show_title(self) -> None:
        new_title = self._other or self._usual
        if new_title != self._title:
            self._title = new_title
            self._write(title(new_title))

"""The status line of the timebox."""

from __future__ import annotations

from collections.abc import Callable

from pi.extension import ExtensionAPI, Registration

KEY = "timebox"
SECONDS = 1.0


class StatusLine:
    """Shows a text and, while it runs, looks every second whether it has changed.

    What is shown is told only when it is another text, so that nothing is painted for nothing.
    """

    def __init__(self, pi: ExtensionAPI, text: Callable[[], str | None]) -> None:
        self._pi = pi
        self._text = text
        self._shown: str | None = None
        self._timer: Registration | None = None

    def follow(self, *, running: bool) -> None:
        """Show the text as it is now, and from now on if it is ``running``."""
        if self._timer is not None:
            self._timer.remove()
            self._timer = None
        if running and self._pi.context.has_ui:
            self._timer = self._pi.scope.every(SECONDS, self.show)
        self.show()

    def show(self) -> None:
        """Show the text as it is now."""
        text = self._text()
        if text != self._shown:
            self._shown = text
            self._pi.context.ui.set_status(KEY, text)

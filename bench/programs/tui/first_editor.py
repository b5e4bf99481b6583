"""One frame of an editor."""

from __future__ import annotations

from collections.abc import Callable

from pi.tui.terminal import Listener, Size
from pi.tui.tui import TUI
from pi.tui.widgets.editor.editor import Editor


class Nowhere:
    """80 by 24 invisible cells."""

    size = Size(columns=80, rows=24)
    backlog = 0

    def start(self, listener: Listener, *, restore: Callable[[], str]) -> None:
        """Do nothing: there is no input."""

    def write(self, data: str) -> None:
        """Discard the output."""

    def stop(self) -> None:
        """Do nothing."""

    def suspend(self) -> None:
        """Do nothing."""


class NoTimers:
    """The only frame is painted at once."""

    def time(self) -> float:
        """Always the same."""
        return 0.0

    def call_later(self, delay: float, callback: Callable[[], object]) -> NoTimers:
        """Do not call back."""
        return self

    def cancel(self) -> None:
        """Do nothing."""


def main() -> None:
    """Paint it."""
    tui, editor = TUI(Nowhere(), env={}), Editor()
    tui.add_child(editor)
    tui.set_focus(editor)
    tui.start(NoTimers())
    tui.stop()

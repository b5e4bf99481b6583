"""One line between the transcript and the editor for what is said in passing."""

from __future__ import annotations

from pi.base.terminal_text import one_line
from pi.modes.interactive.theme import Theme
from pi.tui.text.slicing import truncate_to_width
from pi.tui.widgets.row_memory import RowMemory


class PassingNotice:
    """The last thing that was said; the next one takes its place."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self._text = ""
        self._token = "muted"
        self._memory = RowMemory()

    def show(self, text: str, token: str = "muted") -> None:
        """Say something; an empty text takes it away."""
        self._text, self._token = one_line(text), token
        self.invalidate()

    def invalidate(self) -> None:
        """Draw anew next time."""
        self._memory.forget()

    def render(self, width: int) -> list[str]:
        """One row with space above it, or nothing."""
        return self._memory.rows(width, self._draw)

    def _draw(self, width: int) -> list[str]:
        if not self._text:
            return []
        paint = self._theme.paint(self._token)
        return ["", paint(truncate_to_width(f" {self._text}", width, "…"))]

"""A place between the transcript and the editor for what is said in passing."""

from __future__ import annotations

from pi.base.terminal_text import one_line
from pi.modes.interactive.theme import Theme
from pi.tui.text.slicing import truncate_to_width
from pi.tui.text.wrap import wrap_text
from pi.tui.widgets.row_memory import RowMemory

MOST_ROWS = 3


class PassingNotice:
    """The last thing that was said; the next one takes its place."""

    stays_in_window = True
    """Here the transcript ends: a resize that moves the editor off the screen brings it back."""

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
        """A few rows with space above them, or nothing."""
        return self._memory.rows(width, self._draw)

    def _draw(self, width: int) -> list[str]:
        if not self._text:
            return []
        paint = self._theme.paint(self._token)
        rows = wrap_text(self._text, max(width - 2, 1))
        if len(rows) > MOST_ROWS:
            rows = [*rows[: MOST_ROWS - 1], f"{rows[MOST_ROWS - 1]} …"]
        return ["", *(paint(truncate_to_width(f" {row}", width, "…")) for row in rows)]

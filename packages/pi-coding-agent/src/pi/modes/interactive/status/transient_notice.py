"""A notice in the footer that disappears."""

from __future__ import annotations

from pi.base.terminal_text import one_line
from pi.modes.interactive.theme import Theme
from pi.tui.containers import CachedWidget
from pi.tui.text.width import truncate_to_width
from pi.tui.text.wrap import wrap_text

MAX_ROWS = 3


class TransientNotice(CachedWidget):
    """The last notice, between the transcript and the editor; the next one replaces it."""

    stays_in_window = True
    """The transcript ends here: a resize that moves the editor off the screen shows it again."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self._text = ""
        self._token = "muted"

    @property
    def text(self) -> str:
        """The notice; empty if there is none."""
        return self._text

    def show(self, text: str, token: str = "muted") -> None:
        """Show a notice; an empty text removes it."""
        self._text, self._token = one_line(text), token
        self.invalidate()

    def end_progress(self) -> None:
        """Remove a notice about work in progress, which ends with an ellipsis."""
        if self._text.endswith("…"):
            self.show("")

    def _draw(self, width: int) -> list[str]:
        if not self._text:
            return []
        paint = self._theme.paint(self._token)
        rows = wrap_text(self._text, max(width - 2, 1))
        if len(rows) > MAX_ROWS:
            rows = [*rows[: MAX_ROWS - 1], f"{rows[MAX_ROWS - 1]} …"]
        return ["", *(paint(truncate_to_width(f" {row}", width, "…")) for row in rows)]

"""Text on one row, cut where it does not fit."""

from __future__ import annotations

from pi.base.terminal_text import sanitise_keeping_style
from pi.tui.text.slicing import truncate_to_width
from pi.tui.widgets.row_memory import RowMemory
from pi.tui.widgets.text import inner_width, padded


class TruncatedText:
    """The first line of a text, cut at the width; sanitised like ``Text``."""

    def __init__(self, text: str = "", pad_x: int = 0, pad_y: int = 0) -> None:
        self._pad_x = pad_x
        self._pad_y = pad_y
        self._memory = RowMemory()
        self.set_text(text)

    def set_text(self, text: str) -> None:
        """Show another text."""
        self._line = sanitise_keeping_style(text).partition("\n")[0]
        self.invalidate()

    def invalidate(self) -> None:
        """Draw anew next time."""
        self._memory.forget()

    def render(self, width: int) -> list[str]:
        """One row, and the space around it."""
        return self._memory.rows(width, self._draw)

    def _draw(self, width: int) -> list[str]:
        line = truncate_to_width(self._line, inner_width(width, self._pad_x))
        return padded([line], width, pad_x=self._pad_x, pad_y=self._pad_y, background=None)

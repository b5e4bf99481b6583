"""Text that wraps."""

from __future__ import annotations

from pi.base.terminal_text import sanitise_keeping_style
from pi.tui.style import Paint
from pi.tui.text.slicing import pad_to_width
from pi.tui.text.wrap import wrap_text
from pi.tui.widgets.row_memory import RowMemory


class Text:
    """A text, wrapped, with space around it and maybe a background.

    Colours inside the text (SGR) are kept, all other sequences are removed. A text without
    anything visible takes no rows.
    """

    def __init__(
        self, text: str = "", pad_x: int = 1, pad_y: int = 1, background: Paint | None = None
    ) -> None:
        self._text = sanitise_keeping_style(text)
        self._pad_x = pad_x
        self._pad_y = pad_y
        self._background = background
        self._memory = RowMemory()

    @property
    def text(self) -> str:
        """What is shown, sanitised."""
        return self._text

    def set_text(self, text: str) -> None:
        """Show another text."""
        text = sanitise_keeping_style(text)
        if text != self._text:
            self._text = text
            self.invalidate()

    def set_background(self, background: Paint | None) -> None:
        """Paint another background, or none."""
        self._background = background
        self.invalidate()

    def invalidate(self) -> None:
        """Draw anew next time."""
        self._memory.forget()

    def render(self, width: int) -> list[str]:
        """The wrapped text."""
        return self._memory.rows(width, self._draw)

    def _draw(self, width: int) -> list[str]:
        if not self._text.strip():
            return []
        return padded(
            wrap_text(self._text, inner_width(width, self._pad_x)),
            width,
            pad_x=self._pad_x,
            pad_y=self._pad_y,
            background=self._background,
        )


def inner_width(width: int, pad_x: int) -> int:
    """The room for content between two pads; at least one column."""
    return max(width - 2 * pad_x, 1)


def padded(
    lines: list[str], width: int, *, pad_x: int, pad_y: int, background: Paint | None
) -> list[str]:
    """Lines that fit ``inner_width``, with space around them; filled if there is a background."""
    margin = " " * min(pad_x, max(width - 1, 0))
    rows = [*[""] * pad_y, *(margin + line if line else "" for line in lines), *[""] * pad_y]
    if background is None:
        return rows
    return [background(pad_to_width(row, width)) for row in rows]

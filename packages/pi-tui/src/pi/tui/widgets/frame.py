"""The frame of a page that takes the place of the editor, for pages that draw their own rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pi.tui.text.width import truncate_to_width
from pi.tui.text.wrap import wrap_parts

FRAME_ROWS = 10
"""Rows that a page leaves to its frame, its hints and the footer."""
LOW_SCREEN = 16
"""Rows of a screen below which hints and empty rows are omitted."""
_BETWEEN = " · "


class FrameTheme(Protocol):
    """The part of a theme that a frame uses."""

    def fg(self, name: str, text: str) -> str:
        """Return ``text`` in a colour of the theme."""
        ...

    def bold(self, text: str) -> str:
        """Return ``text`` in bold."""
        ...


def framed_rows(
    theme: FrameTheme,
    title: str,
    body: Sequence[str],
    hints: str,
    *,
    width: int,
    height: int,
    aside: str = "",
) -> list[str]:
    """Return a rule, the title, the body, hints and a rule, as every dialog has them.

    The rows of the body begin with their second column: the arrow of a selected row, or two
    spaces. ``hints`` break between two of them. ``height`` is that of the screen.
    """
    border, gap = theme.fg("border", "─" * width), [""] if height >= LOW_SCREEN else []
    head = theme.bold(theme.fg("accent", title))
    if aside:
        head += f"  {theme.fg('dim', aside)}"
    below = wrap_parts(hints, _BETWEEN, max(width - 2, 1)) if gap else []
    rows = [
        *(head, *gap, *body),
        *(*gap, *(theme.fg("dim", row) for row in below)),
    ]
    inside = [truncate_to_width(f" {row}" if row else "", width, "…") for row in rows]
    return [border, *inside, border]

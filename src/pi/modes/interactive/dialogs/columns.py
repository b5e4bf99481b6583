"""Rows of lists in columns. Pure."""

from __future__ import annotations

from pi.tui.text.slicing import truncate_to_width
from pi.tui.text.width import visible_width

_LEAST = 10
"""Columns below which what stands on the left would say nothing: the right is left out."""


def spread(left: str, right: str, width: int) -> str:
    """``left``, and ``right`` at the other edge; when there is no room, the left is cut first."""
    room = width - visible_width(right) - 2
    if not right or room < _LEAST:
        return truncate_to_width(left, width, "…")
    return f"{truncate_to_width(left, room, '…', pad=True)}  {right}"

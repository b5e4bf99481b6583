"""Rows of lists in columns. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pi.base.terminal_text import one_line
from pi.tui.style import Paint
from pi.tui.text.slicing import truncate_to_width
from pi.tui.text.width import visible_width

GAP = 2
"""Columns between what stands beside each other."""
_GAP = " " * GAP
_LEAST = 10
"""Columns below which what stands on the left would say nothing: the right is left out."""


def spread(left: str, right: str, width: int) -> str:
    """``left``, and ``right`` at the other edge; when there is no room, the left is cut first."""
    room = width - visible_width(right) - GAP
    if not right or room < _LEAST:
        return truncate_to_width(left, width, "…")
    return f"{truncate_to_width(left, room, '…', pad=True)}{_GAP}{right}"


def tab_row(tabs: Sequence[str], open_tab: str, width: int, *, chosen: Paint, others: Paint) -> str:
    """All tabs in their order; where they do not fit, those before the open one go first."""
    names = map(one_line, tabs)
    labels = [
        f"[{name}]" if tab == open_tab else name for tab, name in zip(tabs, names, strict=True)
    ]
    end = tabs.index(open_tab) + 1
    first = 0
    while first < end - 1 and visible_width(_before(first) + _GAP.join(labels[first:end])) > width:
        first += 1
    paints = [chosen if tab == open_tab else others for tab in tabs]
    shown = [paint(label) for paint, label in zip(paints, labels, strict=True)]
    return truncate_to_width(others(_before(first)) + _GAP.join(shown[first:]), width, "…")


def _before(first: int) -> str:
    return "… " if first else ""

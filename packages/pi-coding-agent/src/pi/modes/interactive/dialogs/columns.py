"""Rows in columns, and rows of tabs."""

from __future__ import annotations

from collections.abc import Sequence

from pi.base.terminal_text import one_line
from pi.tui.style import Paint
from pi.tui.text.width import truncate_to_width, visible_width

GAP = 2
"""Columns between two texts on a row."""
_GAP = " " * GAP
_MIN = 10
"""Minimum width of the left text; below it the right one is omitted."""


def spread(left: str, right: str, width: int) -> str:
    """Return ``left``, and ``right`` at the other edge; the left is truncated first."""
    left_width = width - visible_width(right) - GAP
    if not right or left_width < _MIN:
        return truncate_to_width(left, width, "…")
    return f"{truncate_to_width(left, left_width, '…', pad=True)}{_GAP}{right}"


def tab_row(tabs: Sequence[str], open_tab: str, width: int, *, chosen: Paint, others: Paint) -> str:
    """Return all tabs in order; without room, those before the open one are omitted first."""
    names = map(one_line, tabs)
    labels = [
        f"[{name}]" if tab == open_tab else name for tab, name in zip(tabs, names, strict=True)
    ]
    end = tabs.index(open_tab) + 1
    first = 0
    while first < end - 1 and visible_width(_before(first) + _GAP.join(labels[first:end])) > width:
        first += 1
    paints = [chosen if tab == open_tab else others for tab in tabs]
    painted = [paint(label) for paint, label in zip(paints, labels, strict=True)]
    return truncate_to_width(others(_before(first)) + _GAP.join(painted[first:]), width, "…")


def _before(first: int) -> str:
    return "… " if first else ""

"""A table with aligned columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pi.base.records import Record
from pi.tui.style import Paint
from pi.tui.text.width import pad_to_width, truncate_to_width, visible_width

GAP = 2
_MIN_FIRST = 12
"""Minimum width of the first column; before it becomes narrower, other columns are left out."""


class Column(Record):
    """One column of a table."""

    title: str
    align: Literal["left", "right"] = "right"
    rank: int = 0
    """In a narrow table, columns with the highest rank are left out first."""


def table(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int, *, heading: Paint
) -> list[str]:
    """Return the titles and the rows, aligned.

    In a narrow table, the first column is truncated and others are left out.
    """
    visible = list(range(len(columns)))
    widths = [
        max(visible_width(cell) for cell in (column.title, *(row[index] for row in rows)))
        for index, column in enumerate(columns)
    ]

    def others() -> int:
        return sum(widths[index] + GAP for index in visible[1:])

    while len(visible) > 2 and width - others() < min(widths[0], _MIN_FIRST):
        visible.remove(max(visible[1:], key=lambda index: columns[index].rank))
    widths[0] = max(min(widths[0], width - others()), 1)

    def line(cells: Sequence[str]) -> str:
        return (" " * GAP).join(
            _cell(cells[index], widths[index], columns[index].align) for index in visible
        )

    titles = heading(line([column.title for column in columns]))
    return [titles, *(line(row) for row in rows)]


def _cell(text: str, width: int, align: str) -> str:
    text = truncate_to_width(text, width, "…")
    return (
        text.rjust(width + len(text) - visible_width(text))
        if align == "right"
        else (pad_to_width(text, width))
    )

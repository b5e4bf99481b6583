"""Tables that fit: columns shrink and their cells wrap; where even that fails, rows are stacked.

The first rows say how wide the columns are, so that those of a long table can become history while
others are still being written. A later row that needs more begins a wider grid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat

from pi.tui.text.slicing import pad_to_width
from pi.tui.text.width import visible_width
from pi.tui.text.wrap import wrap_text
from pi.tui.widgets.markdown.inline import draw_inline, plain_text
from pi.tui.widgets.markdown.look import Look
from pi.tui.widgets.markdown.nodes import Alignment, Cell, Table

_LEAST_COLUMN = 4
"""Columns narrower than this (on average) are not worth reading."""
_SHAPING_ROWS = 12
_SHAPING_CHARACTERS = 400
"""How much of a table says at most how wide its columns are. No more than a window shows."""


def draw_table(table: Table, width: int, look: Look) -> list[str]:
    """The rows of a table, none wider than ``width``."""
    head = [look.theme.bold(_draw_cell(cell, look)) for cell in table.head]
    body = [[_draw_cell(cell, look) for cell in row] for row in table.rows]
    room = width - (3 * len(head) + 1)
    if room < _LEAST_COLUMN * len(head):
        return _stack(head, body, width, look)
    shaping = shaping_rows(table)
    widths = _fitting(zip(head, *body[:shaping], strict=False), room)
    # Wrapped cells need lines to tell them apart.
    is_lined = any(_wraps(cells, widths) for cells in body[:shaping])
    lines = _draw_row(head, widths, table.alignments, look)
    rows = [_border("┌", "┬", "┐", widths, look), *lines]
    for number, cells in enumerate(body):
        before, above = widths, lines
        if number >= shaping and sum(widths) < room:
            widths = _fitting(zip(cells, strict=True), room, at_least=widths)
        lines = _draw_row(cells, widths, table.alignments, look)
        if widths != before:
            rows += [_border("└", "┴", "┘", before, look), _border("┌", "┬", "┐", widths, look)]
        elif not number or is_lined or max(len(lines), len(above)) > 1:
            rows.append(_border("├", "┼", "┤", widths, look))
        rows += lines
    return [*rows, _border("└", "┴", "┘", widths, look)]


def shaping_rows(table: Table) -> int:
    """How many rows below the head say how wide the columns are.

    A row behind them changes nothing of those above it.
    """
    characters = 0
    for number, row in enumerate(table.rows[:_SHAPING_ROWS], 1):
        characters += sum(len(plain_text(cell)) for cell in row)
        if characters >= _SHAPING_CHARACTERS:
            return number
    return _SHAPING_ROWS


def shrink(widths: Sequence[int], room: int) -> list[int]:
    """Widths that add up to at most ``room``: the widest give first, none becomes less than 1.

    Needs at least one column of room for each.
    """
    wanted = [max(width, 1) for width in widths]
    limit = min(max(wanted), room)
    while limit > 1 and sum(min(width, limit) for width in wanted) > room:
        limit -= 1
    shrunk = [min(width, limit) for width in wanted]
    spare = room - sum(shrunk)
    cut = [index for index, width in enumerate(wanted) if width > limit]
    for index in cut[:spare]:
        shrunk[index] += 1
    return shrunk


def _draw_cell(cell: Cell, look: Look) -> str:
    return look.theme.text(draw_inline(cell, look))


def _fitting(
    columns: Iterable[Iterable[str]], room: int, at_least: Iterable[int] = repeat(0)
) -> list[int]:
    """How wide columns are made for what is in them."""
    wanted = [max(_widest(cells), least) for cells, least in zip(columns, at_least, strict=False)]
    return shrink(wanted, room)


def _wraps(cells: Sequence[str], widths: Sequence[int]) -> bool:
    return any(
        "\n" in cell or visible_width(cell) > width
        for cell, width in zip(cells, widths, strict=False)
    )


def _widest(cells: Iterable[str]) -> int:
    return max(visible_width(line) for cell in cells for line in cell.split("\n"))


def _draw_row(
    cells: Sequence[str], widths: Sequence[int], alignments: Sequence[Alignment], look: Look
) -> list[str]:
    edge = look.theme.rule("│")
    columns = [wrap_text(cell, width) for cell, width in zip(cells, widths, strict=False)]
    height = max(len(lines) for lines in columns)
    rows = []
    for number in range(height):
        parts = [
            _aligned(lines[number] if number < len(lines) else "", width, alignment)
            for lines, width, alignment in zip(columns, widths, alignments, strict=False)
        ]
        rows.append(f"{edge} {f' {edge} '.join(parts)} {edge}")
    return rows


def _aligned(text: str, width: int, alignment: Alignment) -> str:
    free = width - visible_width(text)
    left = {"Right": free, "Center": free // 2}.get(alignment, 0)
    return pad_to_width(" " * left + text, width)


def _border(left: str, middle: str, right: str, widths: Sequence[int], look: Look) -> str:
    return look.theme.rule(left + middle.join("─" * (width + 2) for width in widths) + right)


def _stack(head: Sequence[str], body: Sequence[Sequence[str]], width: int, look: Look) -> list[str]:
    """Each row as lines of "head: cell", with a rule between the rows."""
    rows: list[str] = []
    for cells in body or [[""] * len(head)]:
        if rows:
            rows.append(look.theme.rule("─" * width))
        for name, cell in zip(head, cells, strict=False):
            rows += wrap_text(f"{name}: {cell}", width)
    return rows

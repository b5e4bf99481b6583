"""Draws results of ``read``: a table of rows, a list of members, a list of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pi.extension import Theme, ToolView, ViewOptions, one_line

COLLAPSED = 8
"""Rows and members that a collapsed call shows."""
WIDTH, MAX_COLUMN = 100, 40
"""Maximal widths of a table and of one of its columns, in terminal columns."""
ELLIPSIS = "…"


def read(view: ToolView, options: ViewOptions, theme: Theme) -> list[str] | None:
    """The path, then the table or list; ``None`` for all other files."""
    details: Any = view.details
    if view.state != "done" or not isinstance(details, dict):
        return None
    path = one_line(str(view.arguments.get("path", "")))
    match details:
        case {"members": [*members]}:
            names = [_member(member, theme) for member in members]
            title, rows = _format_count(details.get("total", len(members)), "member"), names
        case {"columns": [*columns], "rows": [*data_rows]}:
            title = (
                f"{_format_count(len(data_rows), 'row')}, {_format_count(len(columns), 'column')}"
            )
            head, *body = _table([*map(str, columns)], data_rows)
            visible_rows = _limit_rows(body, options, theme)
            return [f"{path} {theme.fg('muted', title)}", theme.bold(head), *visible_rows]
        case {"tables": [*tables]}:
            title, rows = (
                _format_count(len(tables), "table"),
                [one_line(str(name)) for name in tables],
            )
        case _:
            return None
    return [f"{path} {theme.fg('muted', title)}", *_limit_rows(rows, options, theme)]


def _format_count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _member(member: Any, theme: Theme) -> str:
    size = member.get("size", 0)
    return f"{one_line(str(member.get('name', '')))} {theme.fg('dim', f'{size:,} bytes')}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """Aligned lines; the last columns of a table that is too wide are left out."""
    cells = [[one_line(name) for name in columns]]
    cells += [["NULL" if value is None else one_line(str(value)) for value in row] for row in rows]
    widths = [min(max(map(len, column)), MAX_COLUMN) for column in zip(*cells, strict=True)]
    fitting = 0
    while fitting < len(widths) and sum(widths[: fitting + 1]) + 3 * fitting <= WIDTH:
        fitting += 1
    lines = []
    for row in cells:
        pieces = [
            _cut(cell, width).ljust(width)
            for cell, width in zip(row[: max(fitting, 1)], widths, strict=False)
        ]
        pieces += [ELLIPSIS] if len(row) > max(fitting, 1) else []
        lines.append(" │ ".join(pieces).rstrip())
    return lines


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + ELLIPSIS


def _limit_rows(rows: list[str], options: ViewOptions, theme: Theme) -> list[str]:
    if options.expanded or len(rows) <= COLLAPSED:
        return rows
    return [*rows[:COLLAPSED], theme.fg("dim", f"{ELLIPSIS} {len(rows) - COLLAPSED} more")]

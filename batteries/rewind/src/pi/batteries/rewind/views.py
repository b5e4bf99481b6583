"""The screens of ``/rewind``: list of points, preview of the changes, and progress."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from pi.batteries.rewind.planning import Plan
from pi.batteries.rewind.preview import (
    PointRow,
    changed_text,
    clock_text,
    file_row,
    summary,
    title,
)
from pi.extension import Theme
from pi.tui.input.keys import matches_key
from pi.tui.text.width import truncate_to_width
from pi.tui.text.wrap import wrap_text
from pi.tui.widgets.frame import FRAME_ROWS, framed_rows

POINTS_HINT = "Enter show what would change · ↑↓ select · Escape close"
PREVIEW_HINT = "Enter choose what to restore · ↑↓ scroll · Escape cancel"
MAX_FILES_SHOWN = 100
NARROW = 60
"""Columns below which the time of a point is left out, so that its prompt can be read."""
COLOURS = {"+": "toolDiffAdded", "-": "toolDiffRemoved", "@": "muted"}


class _Screen:
    """Base of the screens. In ``__init__``, the arguments of ``ui.custom`` follow their own."""

    def __init__(self, tui: Any, theme: Theme, keys: Any, done: Callable[[Any], None]) -> None:
        self._tui = tui
        self._theme = theme
        self._done = done

    def invalidate(self) -> None:
        """Nothing is cached."""

    def _frame_lines(self, title: str, rows: Sequence[str], hints: str, width: int) -> list[str]:
        height: int = self._tui.terminal.size.rows
        return framed_rows(self._theme, title, rows, hints, width=width, height=height)

    def _max_rows(self, used: int) -> int:
        rows: int = self._tui.terminal.size.rows
        return max(3, rows - used - FRAME_ROWS)


class PointsScreen(_Screen):
    """All points, the newest first, with the changes after each of them."""

    def __init__(self, rows: Sequence[PointRow], coverage: str, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._rows = rows
        self._coverage = coverage
        self._selected = 0

    def render(self, width: int) -> list[str]:
        """The points around the selected one."""
        theme, row_limit = self._theme, self._max_rows(2)
        first = max(0, min(self._selected - row_limit // 2, len(self._rows) - row_limit))
        lines: list[str] = []
        for index, row in enumerate(self._rows[first : first + row_limit], first):
            is_selected = index == self._selected
            changed = changed_text(row)
            arrow, time = "→ " if is_selected else "  ", clock_text(row.point.time_ms)
            time = f"{time}  " if width >= NARROW else ""
            label = f"{arrow}{time}{title(row.point)}"
            label = truncate_to_width(label, max(width - len(changed) - 4, 20), "…", pad=True)
            label = theme.fg("accent", label) if is_selected else label
            lines.append(f"{label}  {theme.fg('dim', changed)}")
        hidden = len(self._rows) - row_limit
        if hidden > 0:
            lines.append(theme.fg("dim", f"  {self._selected + 1} of {len(self._rows)}"))
        lines += ["", *(theme.fg("muted", row) for row in wrap_text(self._coverage, width - 2))]
        return self._frame_lines("Rewind to before", lines, POINTS_HINT, width)

    def handle_input(self, data: str) -> None:
        """Select or close."""
        if any(matches_key(data, key) for key in ("escape", "ctrl+c")):
            self._done(None)
        elif matches_key(data, "enter"):
            self._done(self._rows[self._selected].point)
        elif matches_key(data, "up"):
            self._selected = (self._selected - 1) % len(self._rows)
        elif matches_key(data, "down"):
            self._selected = (self._selected + 1) % len(self._rows)


class WorkScreen(_Screen):
    """Shows a text until a task is done. No key closes it."""

    def __init__(self, text: str, task: asyncio.Future[Any], *arguments: Any) -> None:
        super().__init__(*arguments)
        self._text = text
        task.add_done_callback(lambda _: self._done(None))

    def render(self, width: int) -> list[str]:
        """The text."""
        return self._frame_lines("Rewind", [self._text], "Please wait", width)

    def handle_input(self, data: str) -> None:
        """Ignore keys: files must not stay half restored."""


class PreviewScreen(_Screen):
    """The files of a plan, followed by their diffs."""

    def __init__(self, plan: Plan, diff: Sequence[str], *arguments: Any) -> None:
        super().__init__(*arguments)
        self._plan = plan
        self._lines = [*self._file_rows(), "", *map(self._colour_line, diff)] if diff else []
        self._lines = self._lines or self._file_rows()
        self._top = 0

    def render(self, width: int) -> list[str]:
        """The visible lines."""
        theme, row_limit = self._theme, self._max_rows(1)
        self._top = max(0, min(self._top, len(self._lines) - row_limit))
        visible_lines = self._lines[self._top : self._top + row_limit]
        rest = len(self._lines) - self._top - len(visible_lines)
        more = [theme.fg("dim", f"… {rest} more lines")] if rest > 0 else []
        return self._frame_lines(
            f"Files: {summary(self._plan)}", [*visible_lines, *more], PREVIEW_HINT, width
        )

    def handle_input(self, data: str) -> None:
        """Scroll, continue or close."""
        page = self._max_rows(1)
        if any(matches_key(data, key) for key in ("escape", "ctrl+c")):
            self._done(None)
        elif matches_key(data, "enter"):
            self._done(self._plan)
        elif matches_key(data, "up"):
            self._top -= 1
        elif matches_key(data, "down"):
            self._top += 1
        elif matches_key(data, "pageUp"):
            self._top -= page
        elif matches_key(data, "pageDown"):
            self._top += page

    def _file_rows(self) -> list[str]:
        theme = self._theme
        # Files that need attention come first.
        files = sorted(self._plan.files, key=lambda file: not (file.is_foreign or file.problem))
        rows = [
            theme.fg("warning", file_row(file))
            if file.is_foreign or file.problem
            else file_row(file)
            for file in files[:MAX_FILES_SHOWN]
        ]
        hidden = len(files) - len(rows)
        return [*rows, theme.fg("dim", f"… {hidden} more files")] if hidden > 0 else rows

    def _colour_line(self, line: str) -> str:
        colour = COLOURS.get(line[:1])
        return self._theme.fg(colour, line) if colour else line

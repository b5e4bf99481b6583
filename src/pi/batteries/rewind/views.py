"""The screens of ``/rewind``: the points, and what a rewind would change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pi.batteries.rewind.preview import PointRow, file_row, row_text, summary
from pi.batteries.rewind.restoring import Plan
from pi.extension import Theme
from pi.tui.input.keys import matches_key
from pi.tui.text.width import truncate_to_width

POINTS_HINT = "↑↓ select · Enter shows what would change · Escape closes"
PREVIEW_HINT = "↑↓ scroll · Enter goes on, nothing is changed yet · Escape changes nothing"
MAX_FILES_SHOWN = 100
COLOURS = {"+": "toolDiffAdded", "-": "toolDiffRemoved", "@": "muted"}


class _Screen:
    """What both screens share."""

    def __init__(self, tui: Any, theme: Theme, keys: Any, done: Callable[[Any], None]) -> None:
        self._tui = tui
        self._theme = theme
        self._done = done

    def invalidate(self) -> None:
        """Nothing is cached."""

    def _room(self, used: int) -> int:
        rows: int = self._tui.terminal.size.rows
        return max(3, rows - used - 8)


class PointsScreen(_Screen):
    """All points, the newest first, with what changed after each of them."""

    def __init__(
        self,
        rows: Sequence[PointRow],
        about: str,
        tui: Any,
        theme: Theme,
        keys: Any,
        done: Callable[[Any], None],
    ) -> None:
        super().__init__(tui, theme, keys, done)
        self._rows = rows
        self._about = about
        self._selected = 0

    def render(self, width: int) -> list[str]:
        """The points around the selected one."""
        theme, room = self._theme, self._room(4)
        first = max(0, min(self._selected - room // 2, len(self._rows) - room))
        lines = [theme.fg("accent", "Rewind to before")]
        for index, row in enumerate(self._rows[first : first + room], first):
            is_selected = index == self._selected
            text = f"{'❯ ' if is_selected else '  '}{row_text(row)}"
            lines.append(theme.fg("accent", text) if is_selected else text)
        hidden = len(self._rows) - room
        if hidden > 0:
            lines.append(theme.fg("dim", f"  {self._selected + 1} of {len(self._rows)}"))
        lines += ["", theme.fg("dim", self._about), theme.fg("dim", POINTS_HINT)]
        return [truncate_to_width(line, width) for line in lines]

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


class PreviewScreen(_Screen):
    """The files of a plan, and their differences below."""

    def __init__(
        self,
        plan: Plan,
        diff: Sequence[str],
        tui: Any,
        theme: Theme,
        keys: Any,
        done: Callable[[Any], None],
    ) -> None:
        super().__init__(tui, theme, keys, done)
        self._plan = plan
        self._lines = [*self._file_rows(), "", *map(self._coloured, diff)] if diff else []
        self._lines = self._lines or self._file_rows()
        self._top = 0

    def render(self, width: int) -> list[str]:
        """What is in view."""
        theme, room = self._theme, self._room(3)
        self._top = max(0, min(self._top, len(self._lines) - room))
        shown = self._lines[self._top : self._top + room]
        title = theme.fg("accent", f"Files: {summary(self._plan)}")
        rest = len(self._lines) - self._top - len(shown)
        more = [theme.fg("dim", f"… {rest} more lines")] if rest > 0 else []
        lines = [title, *shown, *more, "", theme.fg("dim", PREVIEW_HINT)]
        return [truncate_to_width(line, width) for line in lines]

    def handle_input(self, data: str) -> None:
        """Scroll, go on or close."""
        page = self._room(3)
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
        # What needs attention comes first.
        files = sorted(self._plan.files, key=lambda each: not (each.is_foreign or each.problem))
        rows = [
            theme.fg("warning", file_row(each))
            if each.is_foreign or each.problem
            else file_row(each)
            for each in files[:MAX_FILES_SHOWN]
        ]
        hidden = len(files) - len(rows)
        return [*rows, theme.fg("dim", f"… {hidden} more files")] if hidden > 0 else rows

    def _coloured(self, line: str) -> str:
        colour = COLOURS.get(line[:1])
        return self._theme.fg(colour, line) if colour else line

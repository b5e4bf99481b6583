"""Which rows of a text are visible, and how the cursor moves among them."""

from __future__ import annotations

from collections.abc import Sequence

from pi.tui.widgets.editor.buffer import Position
from pi.tui.widgets.editor.layout import Layout, Row
from pi.tui.widgets.editor.units import Units


class Viewport:
    """A window of rows that follows the cursor."""

    def __init__(self, units: Units) -> None:
        self._layout = Layout(units)
        self._layout.update([""], 1)
        self._cursor = Position(0, 0)
        self._top = 0
        self._height = 1
        self._wanted_column: int | None = None
        """Where vertical moves lead although shorter rows are on the way."""

    def update(self, lines: Sequence[str], cursor: Position, *, width: int, height: int) -> None:
        """Lay out the text anew and bring the cursor into view."""
        self._cursor = cursor
        self._layout.update(lines, max(width, 1))
        self._height = max(height, 1)
        row = self.cursor_row
        lowest = max(self._layout.height - self._height, 0)
        self._top = min(max(min(self._top, row), row - self._height + 1), lowest)

    def forget_column(self) -> None:
        """Let the next vertical move start from the column of the cursor."""
        self._wanted_column = None

    @property
    def cursor_row(self) -> int:
        """The number of the row with the cursor."""
        return self._layout.row_of(self._cursor)

    @property
    def on_first_row(self) -> bool:
        """Whether there is no row above the cursor."""
        return self.cursor_row == 0

    @property
    def on_last_row(self) -> bool:
        """Whether there is no row below the cursor."""
        return self.cursor_row == self._layout.height - 1

    @property
    def visible(self) -> list[Row]:
        """The rows in the window, from the top."""
        end = min(self._top + self._height, self._layout.height)
        return [self._layout.row(number) for number in range(self._top, end)]

    @property
    def above(self) -> int:
        """How many rows are above the window."""
        return self._top

    @property
    def below(self) -> int:
        """How many rows are below the window."""
        return max(self._layout.height - self._top - self._height, 0)

    @property
    def page(self) -> int:
        """How many rows a page has."""
        return self._height

    def moved(self, rows: int) -> Position:
        """Where the cursor is some rows further down, or up."""
        if self._wanted_column is None:
            self._wanted_column = self._layout.column_of(self._cursor)
        return self._layout.position_at(self.cursor_row + rows, self._wanted_column)

    def at(self, row: int, column: int) -> Position:
        """The place at a cell of the window."""
        return self._layout.position_at(self._top + row, column)

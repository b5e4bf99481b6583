"""Wraps lines into rows, scrolls them, and draws the rows of an editor in its theme."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TypeAlias

from pi.base.records import Record
from pi.tui.component import CURSOR_MARKER
from pi.tui.style import Paint, inverse, unpainted
from pi.tui.text.ansi import strip_sequences
from pi.tui.text.width import truncate_to_width, visible_width
from pi.tui.widgets.editor.buffer import Position
from pi.tui.widgets.editor.text_units import TextUnits
from pi.tui.widgets.select_list import SelectTheme

Piece: TypeAlias = tuple[int, int]
"""The first and last character of a line that a row shows."""


class EditorTheme(Record):
    """The style of an ``Editor``."""

    border: Paint = unpainted
    placeholder: Paint = unpainted
    suggestions: SelectTheme = SelectTheme()


class Row(Record, kw_only=False):
    """A row on the screen: a part of a line."""

    line: int
    start: int
    end: int


class Layout:
    """The rows of a text. Unchanged lines are not wrapped again.

    Rows have the given width, plus one column if they end in a space. The caller keeps that column
    free, because the cursor needs it at the end of a full row.
    """

    def __init__(self, units: TextUnits) -> None:
        self._units = units
        self._width = 0
        self._lines: list[str] = []
        self._pieces: list[list[Piece]] = []
        """The pieces of each line."""
        self._first_rows: list[int] = [0]
        """The number of the first row of each line, followed by the number of all rows."""

    def update(self, lines: Sequence[str], width: int) -> None:
        """Wrap the text."""
        head = tail = 0
        if width == self._width:
            head = _same(self._lines, lines)
            tail = _same(reversed(self._lines[head:]), reversed(lines[head:]))
        changed = lines[head : len(lines) - tail]
        self._pieces[head : len(self._lines) - tail] = [
            wrap_line(line, width, self._units) for line in changed
        ]
        self._lines, self._width = list(lines), width
        self._first_rows = list(accumulate(map(len, self._pieces), initial=0))

    @property
    def height(self) -> int:
        """The number of rows."""
        return self._first_rows[-1]

    def row(self, number: int) -> Row:
        """Return the row with a number, or the nearest one."""
        number = min(max(number, 0), self.height - 1)
        line = bisect_right(self._first_rows, number) - 1
        return Row(line, *self._pieces[line][number - self._first_rows[line]])

    def row_of(self, position: Position) -> int:
        """Return the number of the row of a position. Between two rows it is the second."""
        starts = [start for start, _ in self._pieces[position.row]]
        return self._first_rows[position.row] + bisect_right(starts, position.col) - 1

    def column_of(self, position: Position) -> int:
        """Return the number of columns before a position in its row."""
        row = self.row(self.row_of(position))
        return visible_width(self._lines[row.line][row.start : position.col])

    def position_at(self, number: int, column: int) -> Position:
        """Return the position nearest to a column of a row, never inside a unit."""
        row = self.row(number)
        text = self._lines[row.line]
        is_wrapped = row.end < len(text)
        position, reached = row.start, 0
        for unit in self._units.split(text[row.start : row.end]):
            width = visible_width(unit)
            # The end of a wrapped row is the start of the next row, so it is not a target here.
            if reached + width > column or (is_wrapped and position + len(unit) >= row.end):
                break
            position += len(unit)
            reached += width
        return Position(row.line, position)


def _same(before: Iterable[str], now: Iterable[str]) -> int:
    """Return the number of identical lines at the front."""
    count = 0
    for one, other in zip(before, now, strict=False):
        if one is not other:
            break
        count += 1
    return count


def wrap_line(line: str, width: int, units: TextUnits) -> list[Piece]:
    """Split a line into pieces of at most ``width`` columns, without a trailing space.

    Breaks after spaces and beside wide characters if possible, otherwise anywhere.
    """
    if units.is_plain(line):
        return _wrap_plain(line, width)
    if visible_width(line) <= width:
        return [(0, len(line))]
    return _wrap_units(units.split(line), width)


def _wrap_plain(line: str, width: int) -> list[Piece]:
    pieces: list[Piece] = []
    start = 0
    while len(line) - start > width:
        blank = line.rfind(" ", start, start + width + 1)
        end = blank + 1 if blank >= 0 else start + width
        pieces.append((start, end))
        start = end
    return [*pieces, (start, len(line))]


def _wrap_units(split: Sequence[str], width: int) -> list[Piece]:
    pieces: list[Piece] = []
    start = position = used = 0
    break_at, used_since = 0, 0
    for unit in split:
        columns = min(visible_width(unit), width)
        wide = columns > 1
        if wide:
            break_at, used_since = position, 0
        while used + columns > width and position > start:
            if unit == " ":
                break
            end, carried = (break_at, used_since) if break_at > start else (position, 0)
            pieces.append((start, end))
            start, used = end, carried
        position += len(unit)
        used += columns
        used_since += columns
        if unit == " " or wide:
            break_at, used_since = position, 0
        if used > width:
            pieces.append((start, position))
            start, used = position, 0
    return [*pieces, (start, position)]


class Viewport:
    """The visible rows, which follow the cursor."""

    def __init__(self, units: TextUnits) -> None:
        self._layout = Layout(units)
        self._layout.update([""], 1)
        self._cursor = Position(0, 0)
        self.page = 1
        """The number of rows of the window."""
        self.above = 0
        """The number of rows above the window."""
        self.below = 0
        """The number of rows below the window."""
        self.cursor_row = 0
        """The number of the row with the cursor."""
        self.visible: list[Row] = []
        """The rows of the window, from the top."""
        self.target_column: int | None = None
        """The column of vertical moves, kept across shorter rows; ``None``: that of the cursor."""

    def update(self, lines: Sequence[str], cursor: Position, *, width: int, height: int) -> None:
        """Wrap the text again and scroll the cursor into view."""
        self._cursor = cursor
        layout = self._layout
        layout.update(lines, max(width, 1))
        self.page = max(height, 1)
        row = self.cursor_row = layout.row_of(cursor)
        lowest = max(layout.height - self.page, 0)
        self.above = min(max(min(self.above, row), row - self.page + 1), lowest)
        end = min(self.above + self.page, layout.height)
        self.below = layout.height - end
        self.visible = [layout.row(number) for number in range(self.above, end)]

    @property
    def on_first_row(self) -> bool:
        """Whether there is no row above the cursor."""
        return self.cursor_row == 0

    @property
    def on_last_row(self) -> bool:
        """Whether there is no row below the cursor."""
        return self.cursor_row == self._layout.height - 1

    def moved(self, rows: int) -> Position:
        """Return the position ``rows`` below the cursor, or above if negative."""
        if self.target_column is None:
            self.target_column = self._layout.column_of(self._cursor)
        return self._layout.position_at(self.cursor_row + rows, self.target_column)

    def at(self, row: int, column: int) -> Position:
        """Return the position at a cell of the window."""
        return self._layout.position_at(self.above + row, column)


_BETWEEN = " · "


def border(width: int, paint: Paint, *, label: str = "", note: str = "") -> str:
    """Return a border of ``width`` columns with a label, a note, or both.

    A label may have its own styles; the line around it is painted.
    """
    text = label or note
    if not text or width < 8:
        return paint("─" * width)
    text = _fitting(text, width - 6)
    tail = width - 4 - visible_width(text)
    end = f" {note} ──" if label and note else ""
    line = "─" * (tail - visible_width(end)) + end
    if visible_width(line) != tail or line == end:  # no space for both
        line = "─" * tail
    return f"{paint('── ')}{text if label else paint(text)}{paint(' ' + line)}"


def _fitting(label: str, width: int) -> str:
    """Return a label without the last of its parts, ``a · b · c``, that do not fit."""
    plain = strip_sequences(label)
    while visible_width(plain) > width and _BETWEEN in plain:
        plain = plain.rpartition(_BETWEEN)[0]
    if visible_width(plain) > width:
        return truncate_to_width(label, width, "…")
    return truncate_to_width(label, visible_width(plain), "")


def text_row(
    text: str,
    cursor: int | None,
    units: TextUnits,
    *,
    width: int,
    selected: tuple[int, int] | None = None,
) -> str:
    """Return a row of text, at most ``width`` columns, with the cursor if it is in this row.

    ``selected`` is drawn reversed, except the cursor.

    ``CURSOR_MARKER`` precedes the drawn cursor, so that the terminal's cursor, and with it the
    window of an input method, is at the same position.
    """
    if selected is not None and selected[0] < selected[1]:
        return _selected_row(text, cursor, units, width, selected)
    if cursor is None:
        return truncate_to_width(text, width, "…")
    if units.is_plain(text) and len(text) < width:  # the usual case, with every key
        character = text[cursor : cursor + 1] or " "
        return f"{text[:cursor]}{CURSOR_MARKER}{inverse(character)}{text[cursor + 1 :]}"
    end = units.after(text, cursor)
    unit = text[cursor:end]
    head = truncate_to_width(text[:cursor], max(width - 1, 0), "")
    remaining = width - visible_width(head)
    drawn_unit = truncate_to_width(unit if visible_width(unit) else " ", remaining, "…")
    tail = truncate_to_width(text[end:], remaining - visible_width(drawn_unit), "…")
    return f"{head}{CURSOR_MARKER}{inverse(drawn_unit)}{tail}"


def _selected_row(
    text: str, cursor: int | None, units: TextUnits, width: int, selected: tuple[int, int]
) -> str:
    drawn, remaining, position = "", width, 0
    for unit in units.split(text):
        if visible_width(unit) > remaining:
            break
        remaining -= visible_width(unit)
        is_cursor = cursor is not None and position <= cursor < position + len(unit)
        marker = CURSOR_MARKER if is_cursor else ""
        is_reversed = selected[0] <= position < selected[1] and not is_cursor
        drawn += f"{marker}{inverse(unit) if is_reversed else unit}"
        position += len(unit)
    if cursor is not None and cursor >= position and remaining:
        drawn += f"{CURSOR_MARKER}{inverse(' ')}"
    return drawn

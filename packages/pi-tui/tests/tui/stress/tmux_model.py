"""A model of a tmux pane: its grid, its history, and how it is resized.

It follows tmux 3.3 and is compared with a real one in ``test_tmux_model``. A wrapped row records
that it continues in the next one; a resize joins such rows and wraps them again.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from pi.tui.screen.pane_match import PaneText
from pi.tui.terminal import Listener, Size
from pi.tui.text.width import grapheme_width, graphemes

_TOKEN = re.compile(
    r"\x1b\[(?P<parameters>[0-9;?<>=]*)(?P<final>[@-~])|\x1b\][^\x07]*\x07|\x1b(?P<escape>[78])"
    r"|(?P<control>[\r\n])|(?P<text>[^\x00-\x1f]+)"
)
SECOND_HALF = ""
"""The second cell of a wide character."""


class Line:
    """Written cells, and whether they continue in the next line."""

    def __init__(self, cells: list[str] | None = None, *, is_wrapped: bool = False) -> None:
        self.cells = cells or []
        self.is_wrapped = is_wrapped

    def put(self, column: int, grapheme: str, width: int) -> None:
        end = column + width
        self.cells += [" "] * (end - len(self.cells))
        if self.cells[column] == SECOND_HALF:
            self.cells[column - 1] = " "
        if self.cells[end : end + 1] == [SECOND_HALF]:
            self.cells[end] = " "
        self.cells[column:end] = [grapheme, *[SECOND_HALF] * (width - 1)]

    def __str__(self) -> str:
        return "".join(self.cells).rstrip()


class Cursor(NamedTuple):
    """A cell of the screen; after the last column if the next character will wrap."""

    row: int
    column: int


class TmuxModel:
    """Implements ``pi.tui.terminal.Terminal``. ``resize`` is silent; ``report_size`` notifies."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.size = Size(columns=columns, rows=rows)
        self.backlog = 0
        self.lines = [Line() for _ in range(rows)]
        """History, then the screen."""
        self.cursor = Cursor(0, 0)
        self._saved = Cursor(0, 0)
        self._scrolled = 0
        """History lines that a higher screen takes back."""
        self._wraps = True
        self._listener: Listener | None = None
        self.size_after_look: tuple[int, int] | None = None
        """Applied after the next read of the pane."""

    @property
    def above(self) -> int:
        """The number of history lines."""
        return len(self.lines) - self.rows

    @property
    def tape(self) -> PaneText:
        rows = [str(line) for line in self.lines]
        return PaneText(rows=rows, width=self.columns, height=self.rows)

    @property
    def joined(self) -> list[str]:
        """Returns the rows with wrapped ones joined."""
        rows, start = [], ""
        for line in self.lines:
            start += "".join(line.cells)
            if not line.is_wrapped:
                rows.append(start.rstrip())
                start = ""
        return rows

    def look(self, done: Callable[[PaneText | None], None]) -> Callable[[], None]:
        """Like ``read_tmux_pane``, but synchronous; the result may be stale."""
        tape = self.tape
        if self.size_after_look is not None:
            self.resize(*self.size_after_look)
            self.size_after_look = None
        done(tape)
        return lambda: None

    def start(self, listener: Listener, *, restore: Callable[[], str]) -> None:
        self._listener = listener

    def stop(self) -> None:
        self._listener = None

    def suspend(self) -> None:
        pass

    def report_size(self) -> None:
        """Notifies the program of the size."""
        self.size = Size(columns=self.columns, rows=self.rows)
        if self._listener is not None:
            self._listener.on_resize()

    def write(self, data: str) -> None:
        for token in _TOKEN.finditer(data):
            if token["text"]:
                for grapheme in graphemes(token["text"]):
                    self._print(grapheme, grapheme_width(grapheme))
            elif token["final"]:
                self._sequence(token["parameters"], token["final"])
            elif token["escape"] == "7":
                self._saved = self.cursor
            elif token["escape"] == "8":
                self.cursor = self._saved
            elif token["control"] == "\r":
                self._go(column=0)
            elif token["control"] == "\n":
                self._feed()

    def resize(self, columns: int, rows: int) -> None:
        """Resizes the grid like tmux: first the height, then the width."""
        row, column = self.above + self.cursor.row, self.cursor.column
        self._change_height(rows)
        if columns != self.columns:
            self.columns = columns
            row, column = self._reflow(row, column)
        self.cursor = Cursor(row - self.above, column) if row >= self.above else Cursor(0, 0)

    def _sequence(self, parameters: str, final: str) -> None:
        count = int(parameters) if parameters.isdigit() else 1
        match final, parameters:
            case "A", _:
                self._go(row=max(self.cursor.row - count, 0))
            case "B", _:
                self._go(row=min(self.cursor.row + count, self.rows - 1))
            case "G", _:
                self._go(column=min(count, self.columns) - 1)
            case "K", "":
                self._erase_rest()
            case "K", "2":
                self._blank(self.above + self.cursor.row)
            case "J", "":
                self._erase_below()
            case "L", _:
                self._insert(count)
            case (("h" | "l"), "?7"):
                self._wraps = final == "h"
            case _ if self._listener is not None:
                answers = {"c": "\x1b[?62c", "18t": f"\x1b[8;{self.rows};{self.columns}t"}
                self._listener.on_input(answers.get(parameters + final, "").encode())

    @property
    def _line(self) -> Line:
        return self.lines[self.above + self.cursor.row]

    def _go(self, *, row: int | None = None, column: int | None = None) -> None:
        row = self.cursor.row if row is None else row
        self.cursor = Cursor(row, self.cursor.column if column is None else column)

    def _print(self, grapheme: str, width: int) -> None:
        if self._wraps and self.cursor.column > self.columns - width:
            self._line.is_wrapped = True
            self._feed()
            self._go(column=0)
        if self.cursor.column > self.columns - width:
            return
        self._line.put(self.cursor.column, grapheme, width)
        furthest = self.columns - (0 if self._wraps else 1)
        self._go(column=min(self.cursor.column + width, furthest))

    def _feed(self) -> None:
        if self.cursor.row < self.rows - 1:
            self._go(row=self.cursor.row + 1)
        else:
            self.lines.append(Line())
            self._scrolled += 1

    def _erase_below(self) -> None:
        first = self.above + self.cursor.row
        if self.cursor == (0, 0):  # tmux keeps the old contents
            used = max(
                (row for row in range(self.rows) if self.lines[first + row].cells), default=-1
            )
            self.lines += [Line() for _ in range(used + 1)]
            self._scrolled = 0
            return
        self._erase_rest()
        for row in range(first + 1, len(self.lines)):
            self._blank(row)

    def _erase_rest(self) -> None:
        """Erases from the cursor on. Written cells still count as such, unless all are erased."""
        cells, column = self._line.cells, self.cursor.column
        if column:
            cells[column:] = [" "] * len(cells[column:])
        else:
            self._blank(self.above + self.cursor.row)

    def _blank(self, first: int) -> None:
        """Resets a line; the line above does not continue in it."""
        self.lines[first] = Line()
        if first:
            self.lines[first - 1].is_wrapped = False

    def _insert(self, count: int) -> None:
        at = self.above + self.cursor.row
        count = min(count, self.rows - self.cursor.row)
        self.lines[at:] = [
            *(Line() for _ in range(count)),
            *self.lines[at : len(self.lines) - count],
        ]
        self._blank(at)

    def _change_height(self, rows: int) -> None:
        fewer = self.rows - rows
        if fewer > 0:
            given_up = min(fewer, self.rows - 1 - self.cursor.row)
            if given_up:
                del self.lines[-given_up:]
            self._scrolled += fewer - given_up
        else:
            back = min(self._scrolled, -fewer)
            self._scrolled -= back
            self.lines += [Line() for _ in range(-fewer - back)]
        self.rows = rows

    def _reflow(self, row: int, column: int) -> tuple[int, int]:
        """Wraps all lines again. Returns the new position of the cursor's cell."""
        lines: list[Line] = []
        found = (0, 0)
        whole: list[str] = []
        place: int | None = None
        for number, line in enumerate(self.lines):
            if number == row:
                behind = column >= len(line.cells)
                place = -1 if behind else len(whole) + column
            whole += line.cells
            if line.is_wrapped and number < len(self.lines) - 1:
                continue
            pieces = _wrapped(whole, self.columns)
            if place is not None:
                found = _find(pieces, place, first=len(lines))
                place = None
            lines += pieces
            whole = []
        lines += [Line() for _ in range(self.rows - len(lines))]
        self.lines = lines
        self._scrolled = min(self._scrolled, self.above)
        return found


def _wrapped(cells: list[str], width: int) -> list[Line]:
    pieces = [Line()]
    for at, cell in enumerate(cells):
        if cell == SECOND_HALF:
            pieces[-1].cells.append(cell)
            continue
        is_wide = cells[at + 1 : at + 2] == [SECOND_HALF]
        if len(pieces[-1].cells) + (2 if is_wide else 1) > width:
            pieces[-1].is_wrapped = True
            pieces.append(Line())
        pieces[-1].cells.append(cell)
    return pieces


def _find(pieces: list[Line], place: int, *, first: int) -> tuple[int, int]:
    """Returns the line and column of a cell; -1 is after the last one."""
    if place < 0:
        return first + len(pieces) - 1, len(pieces[-1].cells)
    for number, piece in enumerate(pieces):
        if place < len(piece.cells):
            return first + number, place
        place -= len(piece.cells)
    raise AssertionError("a cell that is not there")

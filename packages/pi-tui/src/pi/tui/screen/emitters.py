"""The four byte patterns that update a terminal, and the sequences around them.

All except the full paint move the cursor relative to its position, and scroll only by writing below
the last row. It therefore does not matter where on the screen the window begins: first the rows
above it scroll out, then exactly the rows that become history. Nothing above the window is ever
erased, and only a full paint erases history, on request.
"""

from __future__ import annotations

from collections.abc import Sequence

from pi.tui.screen.rows import ERASE_ROW, WRAP_OFF, WRAP_ON, RowPrinter, is_image

BEGIN_SYNC, END_SYNC = "\x1b[?2026h", "\x1b[?2026l"
SHOW_CURSOR, HIDE_CURSOR = "\x1b[?25h", "\x1b[?25l"
CLEAR_ALL = "\x1b[2J\x1b[H\x1b[3J"
"""Erases screen and scrollback. This is the only place in the program with this sequence."""

ERASE_NEXT_ROWS = "\x1b7\x1b[B\r\x1b[J\x1b8"
"""Erases all rows below the cursor. ``RowWriter.erase_from`` explains why not from its row."""

_JOIN_NEXT_ROW = "\x1b[999G\u3000\x1b[2D\x1b[2X"
"""Makes the current, empty row a line that continues in the next one, and moves there.

A wide character does not fit the last column, so the terminal wraps before it. It is erased at
once, but the row before it keeps the mark of a wrapped line.
"""


class RowWriter:
    """Collects bytes and tracks the cursor row, counted from the first row of the window.

    ``painted`` are the rows on the screen, from row 0; there is always at least one.
    """

    def __init__(self, printer: RowPrinter, painted: Sequence[str], row: int) -> None:
        self.painted = painted
        self.row = row
        self.feeds = False
        """Whether all moves down are line feeds, which create missing rows."""
        self._printer = printer
        self._output: list[str] = []

    def text(self) -> str:
        """The collected bytes."""
        return "".join(self._output)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was collected yet."""
        return not self._output

    def put(self, raw: str) -> None:
        """Add a sequence that leaves the cursor in its row."""
        self._output.append(raw)

    def move(self, row: int, column: int = 0) -> None:
        """Move to a cell of a row that is on the screen."""
        self._change_row(row)
        self.put(f"\x1b[{column + 1}G" if column else "\r")

    def change(self, row: int, new: str) -> None:
        """Change a painted row to ``new`` if it differs."""
        old = self.painted[row]
        if old is new or old == new:
            return
        column, text = self._printer.change(old, new)
        self.move(row, column)
        self.put(text)

    def open_row(self, row: int) -> None:
        """Move to the start of a row, or create the next row below the painted ones.

        At the bottom of the screen, a new row scrolls all others up by one.
        """
        if row < len(self.painted):
            self.move(row)
        else:
            self._change_row(row - 1)
            self.put("\r\n")
            self.row = row

    def print(self, new: str) -> None:
        """Write a whole row at the start of the current line, which is blank."""
        self.put(self._printer.render(new, fresh=True))

    def print_unbroken(self, new: str) -> None:
        """Write a whole row that the terminal may wrap, at the start of the current, blank line.

        Afterwards the cursor is on the last of its lines.
        """
        self.put(self._printer.unbroken(new))
        self.row += self._printer.lines(new) - 1

    def insert(self, row: int, count: int) -> None:
        """Insert ``count`` blank rows above ``row``; the rows from there on move down.

        At the bottom of the screen, all rows scroll up first to make room.
        """
        self._change_row(len(self.painted) - 1)
        self.put("\r\n" * count)
        self.row += count
        self.painted = [*self.painted, *[""] * count]
        self.move(row)
        self.put(f"\x1b[{count}L")

    def erase_from(self, first: int) -> None:
        """Erase the painted rows from ``first`` on.

        Erases them one by one: erasing from the top of the screen makes tmux move the whole screen
        into its history.
        """
        for row in range(first, len(self.painted)):
            self.move(row)
            self.put(ERASE_ROW)

    def _change_row(self, row: int) -> None:
        if row != self.row:
            distance = row - self.row
            if distance > 0 and self.feeds:
                self.put("\n" * distance)
            else:
                self.put(f"\x1b[{abs(distance)}{'B' if distance > 0 else 'A'}")
            self.row = row


def full_paint(writer: RowWriter, rows: Sequence[str]) -> None:
    """Erase everything, then write all rows of history and window."""
    writer.put(CLEAR_ALL)
    writer.painted, writer.row = [""], 0
    _rewrite(writer, rows, leaving=len(rows))


def window_diff(writer: RowWriter, rows: Sequence[str]) -> None:
    """Rewrite the changed rows of the window. No row becomes history."""
    _rewrite(writer, rows, leaving=0)


def scroll_append(
    writer: RowWriter, rows: Sequence[str], *, leaving: int, in_pane: bool = False
) -> None:
    """Rewrite the changed rows and append new ones, so that as many scroll out at the top.

    ``rows`` begin with the ``leaving`` ones, which become history. A pane may have lost its last
    rows unnoticed. There, everything after the first change is written again.
    """
    writer.feeds = in_pane
    _rewrite(writer, rows, leaving=leaving)


def boundary_rewrite(writer: RowWriter, rows: Sequence[str], *, unbroken: int = 0) -> None:
    """Write the rows that become history and then the whole window, over whatever is there.

    The first ``unbroken`` rows may be wrapped by the terminal.
    """
    writer.move(0)
    writer.put(ERASE_NEXT_ROWS + ERASE_ROW)
    line = 0
    for number, row in enumerate(rows):
        writer.open_row(line)
        if number < unbroken:
            writer.print_unbroken(row)
        else:
            writer.print(row)
        line = writer.row + 1
    writer.erase_from(line)


def join_empty_rows(writer: RowWriter, first: int) -> None:
    """Make the painted, empty rows from ``first`` on one wrapped line.

    tmux keeps empty rows below the text when it gets narrower and moves rows at the top into
    history instead. Rows of one line are joined at the new width, which makes room.
    """
    writer.move(first)
    count = len(writer.painted) - 1 - first
    writer.put(WRAP_ON + _JOIN_NEXT_ROW * count + WRAP_OFF)
    writer.row += count


def separate_empty_rows(writer: RowWriter) -> None:
    """Undoe ``join_empty_rows`` before something else is written there."""
    writer.move(len(writer.painted) - 1)
    writer.put(ERASE_NEXT_ROWS)


def _rewrite(writer: RowWriter, rows: Sequence[str], *, leaving: int) -> None:
    """Replace the painted rows by ``rows``; additional rows are appended below.

    If the last rows are unchanged, such as an editor below a growing text, they are moved and not
    written again. Rows that scroll out at the top must be painted before that.
    """
    painted = len(writer.painted)
    more = len(rows) - painted
    unchanged = _same_end(writer.painted, rows) if more > 0 and not writer.feeds else 0
    split = painted - unchanged if leaving <= painted - unchanged else painted
    for number, row in enumerate(rows[:split]):
        writer.change(number, row)
    if split < painted:
        writer.insert(split, more)
    for number in range(split, split + max(more, 0)):
        writer.open_row(number)
        writer.print(rows[number])
    writer.erase_from(len(rows))


def _same_end(old: Sequence[str], new: Sequence[str]) -> int:
    """Return the number of equal last rows; 0 if there is an image, which would not move along."""
    count = 0
    while count < min(len(old), len(new)) and old[-1 - count] == new[-1 - count]:
        if is_image(old[-1 - count]):
            return 0
        count += 1
    return count

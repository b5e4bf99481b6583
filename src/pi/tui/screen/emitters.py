"""The four shapes of bytes that put a frame on the terminal.

All but the full paint move the cursor only relative to where it is, and let rows leave the screen
only by writing below the last one. So it does not matter where on the screen the window begins:
what scrolls out is first what stood above it, then exactly the rows that are to become history.
Nothing is ever erased above the window, and only a full paint erases history, on request.
"""

from __future__ import annotations

from collections.abc import Sequence

from pi.tui.screen.rows import ERASE_ROW, RowPrinter, is_image

CLEAR_ALL = "\x1b[2J\x1b[H\x1b[3J"
"""Erases screen and scrollback. The only place in the program with this sequence."""

ERASE_NEXT_ROWS = "\x1b7\x1b[B\r\x1b[J\x1b8"
"""Erases all rows below the cursor's, and stays. See ``Pen.erase_from`` for why not from there."""


class RowWriter:
    """Collects bytes and knows on which row the cursor stands, counted from the window's first.

    ``painted`` are the rows that stand on the screen now, from row 0 on; there is always one.
    """

    def __init__(self, printer: RowPrinter, painted: Sequence[str], row: int) -> None:
        self.painted = painted
        self.row = row
        self.feeds = False
        """Whether every way down is a line feed, which makes the rows that are not there."""
        self._printer = printer
        self._output: list[str] = []

    def text(self) -> str:
        """Everything collected."""
        return "".join(self._output)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was collected yet."""
        return not self._output

    def put(self, raw: str) -> None:
        """Add a sequence that leaves the cursor on its row."""
        self._output.append(raw)

    def move(self, row: int, column: int = 0) -> None:
        """Go to a cell of a row that is on the screen."""
        self._change_row(row)
        self.put(f"\x1b[{column + 1}G" if column else "\r")

    def change(self, row: int, new: str) -> None:
        """Turn a painted row into ``new``, if it is not that already."""
        old = self.painted[row]
        if old is new or old == new:
            return
        column, text = self._printer.change(old, new)
        self.move(row, column)
        self.put(text)

    def open_row(self, row: int) -> None:
        """Go to the beginning of a row, or of a new one if it is the next below the painted ones.

        At the bottom of the screen a new row makes all others move up by one.
        """
        if row < len(self.painted):
            self.move(row)
        else:
            self._change_row(row - 1)
            self.put("\r\n")
            self.row = row

    def print(self, new: str) -> None:
        """Write a whole row at the beginning of the cursor's, which is blank."""
        self.put(self._printer.whole(new, fresh=True))

    def print_unbroken(self, new: str) -> None:
        """Write a whole row that may be wrapped, at the beginning of the cursor's, which is blank.

        The cursor is then on the last of its lines.
        """
        self.put(self._printer.unbroken(new))
        self.row += self._printer.lines(new) - 1

    def insert(self, row: int, count: int) -> None:
        """Open ``count`` blank rows above ``row``; those from there on move down.

        At the bottom of the screen all rows move up before that, to make room.
        """
        self._change_row(len(self.painted) - 1)
        self.put("\r\n" * count)
        self.row += count
        self.painted = [*self.painted, *[""] * count]
        self.move(row)
        self.put(f"\x1b[{count}L")

    def erase_from(self, first: int) -> None:
        """Blank the painted rows from ``first`` on.

        One by one: erasing from the top of the screen makes tmux move all of it into its history.
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


def full_paint(pen: RowWriter, rows: Sequence[str]) -> None:
    """Erase everything, then write all rows from the first of history to the last of the window."""
    pen.put(CLEAR_ALL)
    pen.painted, pen.row = [""], 0
    _rewrite(pen, rows, leaving=len(rows))


def window_diff(pen: RowWriter, rows: Sequence[str]) -> None:
    """Rewrite the rows of the window that changed; nothing becomes history."""
    _rewrite(pen, rows, leaving=0)


def scroll_append(
    pen: RowWriter, rows: Sequence[str], *, leaving: int, in_pane: bool = False
) -> None:
    """Rewrite the rows that changed and write new ones below, so that as many leave at the top.

    ``rows`` begin with the ``leaving`` ones: exactly what becomes history. A pane may have lost its
    last rows unnoticed: there, what follows the first change is written as if they were gone.
    """
    pen.feeds = in_pane
    _rewrite(pen, rows, leaving=leaving)


def seam_rewrite(pen: RowWriter, rows: Sequence[str], *, unbroken: int = 0) -> None:
    """Write what becomes history and then the whole window, whatever stands there now.

    The first ``unbroken`` rows may be wrapped by the terminal.
    """
    pen.move(0)
    pen.put(ERASE_NEXT_ROWS + ERASE_ROW)
    line = 0
    for number, row in enumerate(rows):
        pen.open_row(line)
        if number < unbroken:
            pen.print_unbroken(row)
        else:
            pen.print(row)
        line = pen.row + 1
    pen.erase_from(line)


def _rewrite(pen: RowWriter, rows: Sequence[str], *, leaving: int) -> None:
    """Make ``rows`` stand where the painted ones stood; those that are too many go below.

    If the last rows are the same as before, as an editor below a growing text is, they are moved
    and not written again. What leaves at the top must have been painted by then.
    """
    painted = len(pen.painted)
    more = len(rows) - painted
    kept = _same_end(pen.painted, rows) if more > 0 and not pen.feeds else 0
    place = painted - kept if leaving <= painted - kept else painted
    for number, row in enumerate(rows[:place]):
        pen.change(number, row)
    if place < painted:
        pen.insert(place, more)
    for number in range(place, place + max(more, 0)):
        pen.open_row(number)
        pen.print(rows[number])
    pen.erase_from(len(rows))


def _same_end(old: Sequence[str], new: Sequence[str]) -> int:
    """How many last rows are the same; none if there is a picture, which does not move along."""
    count = 0
    while count < min(len(old), len(new)) and old[-1 - count] == new[-1 - count]:
        if is_image(old[-1 - count]):
            return 0
        count += 1
    return count

"""Finds, selects and relocates text in rows. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pi.base.records import Record
from pi.tui.style import Paint, inverse
from pi.tui.text.ansi import strip_sequences
from pi.tui.text.width import slice_columns, visible_width


class Match(Record):
    """The position of a match, in columns."""

    row: int
    start: int
    end: int


def find_all(rows: Sequence[str], text: str) -> list[Match]:
    """Returns every match of ``text``. Case matters only if ``text`` contains capitals."""
    if not text:
        return []
    fold = text == text.lower()
    found: list[Match] = []
    for number, row in enumerate(rows):
        plain = strip_sequences(row)
        line = plain.lower() if fold and len(plain.lower()) == len(plain) else plain
        at = line.find(text)
        while at >= 0:
            start = visible_width(plain[:at])
            width = visible_width(plain[at : at + len(text)])
            found.append(Match(row=number, start=start, end=start + width))
            at = line.find(text, at + len(text))
    return found


_WORD = re.compile(r"[\w./~:@%&=?#+-]+")


class TextSelection(Record):
    """A selection from the cell where the button was pressed to the current cell.

    Rows are those of the content.
    """

    anchor: tuple[int, int]
    """Row and column."""
    head: tuple[int, int]

    @property
    def ends(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The first and last cell, in reading order."""
        return min(self.anchor, self.head), max(self.anchor, self.head)

    def columns(self, row: int, width: int) -> tuple[int, int] | None:
        """Returns the selected columns of a row as start and end; None if there are none."""
        (first_row, first), (last_row, last) = self.ends
        if not first_row <= row <= last_row:
            return None
        start = first if row == first_row else 0
        end = last + 1 if row == last_row else width
        return (start, min(end, width)) if start < min(end, width) else None


def word_at(rows: Sequence[str], row: int, column: int) -> TextSelection | None:
    """Returns the word, path or URL at a cell, without trailing punctuation."""
    plain = strip_sequences(rows[row]) if 0 <= row < len(rows) else ""
    for word in _WORD.finditer(plain):
        start = visible_width(plain[: word.start()])
        end = start + visible_width(word[0].rstrip(".:?")) - 1
        if start <= column <= end:
            return TextSelection(anchor=(row, start), head=(row, end))
    return None


def selected_text(rows: Sequence[str], selection: TextSelection) -> str:
    """Returns the selected text, without styles and trailing spaces."""
    (first, _), (last, _) = selection.ends
    lines: list[str] = []
    for number in range(max(first, 0), min(last + 1, len(rows))):
        row = rows[number]
        span = selection.columns(number, visible_width(row))
        lines.append(
            strip_sequences(slice_columns(row, span[0], span[1] - span[0])) if span else ""
        )
    return "\n".join(line.rstrip() for line in lines)


def marked(row: str, start: int, end: int, paint: Paint = inverse) -> str:
    """Returns a row with the columns from ``start`` to ``end`` painted."""
    width = visible_width(row)
    middle = strip_sequences(slice_columns(row, start, end - start))
    rest = slice_columns(row, end, max(0, width - end))
    return f"{slice_columns(row, 0, start)}{paint(middle)}{rest}"


def followed(old: Sequence[str], shown: range, new: Sequence[str]) -> int:
    """Finds the row at the top of the view again after a new layout.

    Returns the row of ``new`` at which to start, so that what was ``shown`` of ``old`` keeps its
    position. The first non-blank row that is found again decides. Rows are identified by their text
    and by the number of equal rows above them. A view at the very top stays there.
    """
    if not shown.start or old[: shown.start + 1] == new[: shown.start + 1]:
        return shown.start
    before, after = [*map(_text, old)], [*map(_text, new)]
    for row in shown:
        places = [number for number, text in enumerate(after) if text and text == before[row]]
        which = before[:row].count(before[row])
        if which < len(places):
            return max(places[which] - (row - shown.start), 0)
    return shown.start


def _text(row: str) -> str:
    return strip_sequences(row).strip()

"""Finds text in rows. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pi.base.records import Record
from pi.tui.style import Paint, inverse
from pi.tui.text.ansi import strip_sequences
from pi.tui.text.width import slice_columns, visible_width


class Match(Record):
    """Where a text was found, in columns."""

    row: int
    start: int
    end: int


def find_all(rows: Sequence[str], text: str) -> list[Match]:
    """Every place where ``text`` stands in a row; capitals matter only if ``text`` has some."""
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


# A stretch of text that was marked with the mouse. Pure.


_WORD = re.compile(r"[\w./~:@%&=?#+-]+")


class TextSelection(Record):
    """From the cell where the mouse went down to the cell where it is now, in rows of content."""

    anchor: tuple[int, int]
    """Row and column."""
    head: tuple[int, int]

    @property
    def ends(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """First and last cell, in reading order."""
        return min(self.anchor, self.head), max(self.anchor, self.head)

    def columns(self, row: int, width: int) -> tuple[int, int] | None:
        """The columns of a row that are selected, as start and end; None if none are."""
        (first_row, first), (last_row, last) = self.ends
        if not first_row <= row <= last_row:
            return None
        start = first if row == first_row else 0
        end = last + 1 if row == last_row else width
        return (start, min(end, width)) if start < min(end, width) else None


def word_at(rows: Sequence[str], row: int, column: int) -> TextSelection | None:
    """The word, path or address at a cell, without the punctuation behind it."""
    plain = strip_sequences(rows[row]) if 0 <= row < len(rows) else ""
    for word in _WORD.finditer(plain):
        start = visible_width(plain[: word.start()])
        end = start + visible_width(word[0].rstrip(".:?")) - 1
        if start <= column <= end:
            return TextSelection(anchor=(row, start), head=(row, end))
    return None


def selected_text(rows: Sequence[str], selection: TextSelection) -> str:
    """What a selection holds, without styles and without spaces at the ends of rows."""
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
    """A row with the columns from ``start`` to ``end`` painted, usually in reverse."""
    width = visible_width(row)
    middle = strip_sequences(slice_columns(row, start, end - start))
    rest = slice_columns(row, end, max(0, width - end))
    return f"{slice_columns(row, 0, start)}{paint(middle)}{rest}"


# Where text is that a reader has before their eyes, once everything is laid out anew. Pure.


def followed(old: Sequence[str], shown: range, new: Sequence[str]) -> int:
    """The row of ``new`` to begin with, so that what was ``shown`` of ``old`` stays where it was.

    The first row that says something and is found again decides: rows are told apart by their
    text, and by how many before them say the same. Who is at the top stays there.
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

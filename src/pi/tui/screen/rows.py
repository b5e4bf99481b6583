"""Single rows, made fit to be written: no wider than the window, no style left open. Pure."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from pi.base.records import Record
from pi.tui.component import CURSOR_MARKER
from pi.tui.text.ansi import LINKED_SCHEMES, SEQUENCE, StyleState, strip_sequences
from pi.tui.text.width import (
    expand_tabs,
    grapheme_width,
    graphemes,
    is_simple,
    pad_to_width,
    slice_columns,
    visible_width,
)

log = logging.getLogger(__name__)


# The last check of a row before it is written: which sequences in it a terminal may obey. Pure.
#
# Text from outside is sanitised where it enters a component. Where that was forgotten, a file
# name could move the cursor, set the window's title or fill the clipboard; so every row is held
# against the forms that this package itself puts into rows, and everything else is removed.


_BIDI = r"\u202a-\u202e\u2066-\u2069"
"""Overrides and isolates, which let text look like something else."""
_STYLE = r"\x1b\[[0-9;:]*+m"
_LINK = rf"\x1b\]8;[A-Za-z0-9_=:.-]*+;(?:(?i:{'|'.join(LINKED_SCHEMES)})[!-~]*+)?+(?:\x07|\x1b\\)"
_STYLED = re.compile(rf"(?:[^\x00-\x1f\x7f-\x9f{_BIDI}]++|{_STYLE}|{_LINK})*+")
"""What nearly every row is: text, styles (SGR) and links (OSC 8)."""

_BASE64 = r"[A-Za-z0-9+/=]*"
# What pi.tui.images writes into rows. Other commands of the same protocols read and delete
# files (Kitty's t=f and t=t) or store downloads (iTerm2 without inline=1).
_KITTY = r"\x1b_Ga=p,q=2,C=1,i=\d+,p=1,c=\d+,r=\d+\x1b\\"
_ITERM = (
    r"\x1b\]1337;File=inline=1(?:;(?:size|width|height|preserveAspectRatio|name)=[A-Za-z0-9+/=%]*)*"
    rf":{_BASE64}\x07"
)
_SIXEL = r"\x1bP0;1;0q[!-~]*\x1b\\"
_DRAWN_FROM_BELOW = rf"\x1b7(?:\x1b\[\d+A)?(?:{_ITERM}|{_SIXEL})\x1b8"


def permitted(row: str) -> str:
    """The row without controls, and without sequences that are no style, link or picture of ours.

    What is removed took no column, so the row is as wide as before.
    """
    if row.isprintable() or _STYLED.fullmatch(row):
        return row
    return _ours_or_any().sub(lambda found: found["ours"] or "", row)


@cache
def _ours_or_any() -> re.Pattern[str]:
    """Compiled for the first row that is more than styled text."""
    ours = "|".join((r"[\t\n]", _STYLE, _LINK, _KITTY, _DRAWN_FROM_BELOW))
    return re.compile(f"(?P<ours>{ours})|{SEQUENCE.pattern}|[{_BIDI}]", re.VERBOSE)


END_OF_STYLES = "\x1b[0m\x1b]8;;\x07"
"""Ends all styles and the hyperlink of a row."""

WRAP_OFF, WRAP_ON = "\x1b[?7l", "\x1b[?7h"
ERASE_REST = "\x1b[K"
ERASE_ROW = "\x1b[2K"

_IMAGE = re.compile(r"\x1b_G|\x1b\]1337;File|\x1bP[0-9;]*q")
_FROM_BELOW = r"\x1b7\x1b\[(\d+)A[^\x07]*?(?:\x07|\x1b\\)\x1b8"
"""A picture that is drawn from its last row, see ``pi.tui.images.graphics``."""
_SURE_RANGES = (
    (" ", "~"),
    ("\u00c0", "\u024f"),  # Latin
    ("\u0400", "\u0482"),  # Cyrillic
    ("\u3041", "\u3096"),  # Japanese
    ("\u30a1", "\u30fa"),
    ("\u4e00", "\u9fff"),  # Chinese
    ("\uac00", "\ud7a3"),  # Korean
)
"""Characters on whose width all terminals agree, so that what follows them can be reached."""
_UNSURE = (
    "[\u0300-\u036f\u0483-\u0489\u0591-\u109f\u1700-\u1dff\u200c\u200d\u20d0-\u20ff"
    "\u302a-\u302f\u3099\u309a\ua66f-\uabff\ufe00-\ufe2f\U00010000-\U0010ffff]"
)
"""Characters whose width terminals disagree about, above all in the last column, and blocks with
marks that combine: beside the last column Ghostty adds them to what stood there before.
"""
_NOT_IN_A_ROW = re.compile(r"[\t\n\r]")


class LineTooWide(Exception):
    """A component returned a row that does not fit; only strict screens raise it."""


class ForeignSequence(Exception):
    """A component returned a row with a forbidden sequence; only strict screens raise it."""


class Change(NamedTuple):
    """What must be written, and from which column on, to turn one row into another."""

    column: int
    text: str


class Caret(NamedTuple):
    """Where the terminal's cursor belongs, counted from the window's first row and column."""

    row: int
    column: int


class RowPrinter:
    """Turns rows into bytes for a window of ``width`` columns.

    What stood there is erased first if a row may be of another width on the terminal: what is left
    of it would be seen, or grow together with a flag. Erasing afterwards would take the last cell.

    Only sequences that are ``permitted`` are written, whatever components return. A row that is too
    wide is cut. Both are logged, or raise ``ForeignSequence`` and ``LineTooWide`` if ``strict``.

    With ``erases_first`` nothing is erased behind a row: cells that were written once and then
    erased still count for tmux when it wraps its rows, unless the whole row was erased.
    """

    def __init__(self, width: int, *, strict: bool = False, erases_first: bool = False) -> None:
        self._width = width
        self._strict = strict
        self._erases_first = erases_first

    def whole(self, row: str, *, fresh: bool = False) -> str:
        """A complete row for the beginning of a line, which is blank already if ``fresh``."""
        row, columns = self._fitted(row)
        text = row + END_OF_STYLES
        if fresh:
            return text
        is_short = self._erases_first and columns < self._width
        if is_short or is_image(row) or not has_certain_width(row):
            return ERASE_ROW + text
        return text + ERASE_REST if columns < self._width else text

    def unbroken(self, row: str) -> str:
        """A complete row for a blank line, which the terminal wraps by itself if it is too wide.

        It then counts as one row for those that read the terminal's history, and is all there even
        if the terminal has become narrower unnoticed.
        """
        if not has_certain_width(row):
            return self.whole(row, fresh=True)
        row = self._permitted(row)
        return f"{WRAP_ON}{row}{END_OF_STYLES}{WRAP_OFF}"

    def lines(self, row: str) -> int:
        """How many lines such a row takes."""
        return len(lines_of(row, self._width)) if has_certain_width(row) else 1

    def change(self, old: str, new: str) -> Change:
        """The least to write over ``old`` so that ``new`` stands there."""
        new, columns = self._fitted(new)
        old = permitted(old)  # as it was written
        start, state = _where_they_part(old, new)
        is_shorter = columns < min(visible_width(old), self._width)
        if start == 0 or is_image(old) or is_image(new) or (is_shorter and self._erases_first):
            return Change(0, self.whole(new))
        opening, rest = state.opening(), new[start:]
        text = opening + rest + (END_OF_STYLES if opening or "\x1b" in rest else "")
        if not has_certain_width(rest):
            text = ERASE_REST + text
        elif is_shorter:
            text += ERASE_REST
        return Change(visible_width(new[:start]), text)

    def _fitted(self, row: str) -> tuple[str, int]:
        """The row as it fits, and its columns."""
        if _NOT_IN_A_ROW.search(row):
            if self._strict and "\t" not in row:
                raise LineTooWide(f"a row holds a line break, which is two rows: {row!r}")
            row = expand_tabs(row).replace("\r", "").replace("\n", " ")
        row = self._permitted(row)
        columns = visible_width(row)
        if columns <= self._width:
            return row, columns
        message = f"a row of {columns} columns does not fit the width of {self._width}: {row!r}"
        if self._strict:
            raise LineTooWide(message)
        log.warning("cut: %s", message)
        return slice_columns(row, 0, self._width), self._width

    def _permitted(self, row: str) -> str:
        kept = permitted(row)
        if kept is not row and kept != row:
            message = f"a row holds what a terminal would obey: {row!r}"
            if self._strict:
                raise ForeignSequence(message)
            log.warning("removed: %s", message)
        return kept


def has_certain_width(row: str) -> bool:
    """Whether nothing in a row is known to be of another width elsewhere."""
    # Nearly all rows are simple; the first frame does not wait until the pattern is compiled.
    return is_simple(strip_sequences(row)) or re.search(_UNSURE, row) is None


def lines_of(row: str, width: int) -> list[int]:
    """How many columns each line has that a row is wrapped into; a wide character is never cut."""
    columns = visible_width(row)
    if columns <= width:
        return [columns]
    lines = [0]
    for grapheme in graphemes(strip_sequences(row)):
        taken = grapheme_width(grapheme)
        if lines[-1] + taken > width:
            lines.append(0)
        lines[-1] += taken
    return lines


def is_image(row: str) -> bool:
    """Whether a row carries a picture."""
    return "\x1b" in row and _IMAGE.search(row) is not None


def without_markers(row: str) -> str:
    """The row as it is written: the cursor marker is for the screen only."""
    return row.replace(CURSOR_MARKER, "") if CURSOR_MARKER in row else row


def window_rows(rows: Sequence[str]) -> list[str]:
    """Rows as they are written from the first row of a window on."""
    return [clipped(without_markers(row), place) for place, row in enumerate(rows)]


def clipped(row: str, rows_above: int) -> str:
    """The row without a picture that begins higher than there are rows above it on the screen.

    The cursor would stop at the upper edge, and the picture would cover what stands below.
    """
    if "\x1b7" not in row:
        return row
    return re.sub(_FROM_BELOW, lambda found: found[0] if int(found[1]) <= rows_above else "", row)


def find_caret(rows: list[str]) -> Caret | None:
    """Where the lowest cursor marker stands."""
    for number in range(len(rows) - 1, -1, -1):
        before, marker, _ = rows[number].rpartition(CURSOR_MARKER)
        if marker:
            return Caret(number, visible_width(before))
    return None


def _where_they_part(old: str, new: str) -> tuple[int, StyleState]:
    """The first index at which rows differ and a cursor can be set, and the styles on there."""
    place = next(
        (at for at, (was, now) in enumerate(zip(old, new, strict=False)) if was != now),
        min(len(old), len(new)),
    )
    # Between two ASCII characters there is always a border between graphemes.
    while place and not all(map(_is_plain, (old[place : place + 1], new[place - 1 : place + 1]))):
        place -= 1
    state = StyleState()
    for sequence in SEQUENCE.finditer(new):
        if sequence.start() >= place:
            break
        if sequence.end() > place or not state.apply(sequence[0]):
            return 0, state
    return (place if _is_sure(strip_sequences(new[:place])) else 0), state


def _is_sure(text: str) -> bool:
    """Whether terminals agree how wide a text is."""
    return text.isascii() or all(
        any(first <= char <= last for first, last in _SURE_RANGES) for char in text
    )


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable()


# Lays overlays over the window. Pure; the frame below and its history are not touched.


class Layer(Record, kw_only=False):
    """Rows that cover a part of the window, from a cell of the screen on."""

    row: int
    column: int
    width: int
    lines: Sequence[str]


def composite(window: Sequence[str], layers: Sequence[Layer], *, width: int) -> list[str]:
    """The window with ``layers`` over it, the last one on top; it grows as far as they reach."""
    rows = list(window)
    for layer in layers:
        rows += [""] * (layer.row + len(layer.lines) - len(rows))
        for number, line in enumerate(layer.lines, layer.row):
            rows[number] = _covered(rows[number], line, layer, width)
    return rows


def _covered(below: str, line: str, layer: Layer, width: int) -> str:
    """One row of the window with one line of a layer on it."""
    end = layer.column + layer.width
    left = pad_to_width(slice_columns(below, 0, layer.column), layer.column)
    middle = pad_to_width(slice_columns(line, 0, layer.width), layer.width)
    right = slice_columns(below, end, max(width - end, 0))
    return f"{left}{END_OF_STYLES}{middle}{END_OF_STYLES}{right}"

"""Single rows: filter sequences, clip, compare, find the cursor; overlays. Pure.

Written rows are at most as wide as the window and close their styles. Text from outside is
sanitised where it enters a component. If that was forgotten, a file name could move the cursor, set
the window's title or fill the clipboard. ``permitted`` therefore removes everything from a row
except the forms that this package writes.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from pi.base.records import Record
from pi.tui.component import CURSOR_MARKER, PROMPT_MARK
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


_BIDI = r"\u202a-\u202e\u2066-\u2069"
"""Bidirectional overrides and isolates, which can disguise text."""
_STYLE = r"\x1b\[[0-9;:]*+m"
_LINK = rf"\x1b\]8;[A-Za-z0-9_=:.-]*+;(?:(?i:{'|'.join(LINKED_SCHEMES)})[!-~]*+)?+(?:\x07|\x1b\\)"
_MARK = re.escape(PROMPT_MARK)
_TEXT = rf"[^\x00-\x1f\x7f-\x9f{_BIDI}]++"
_STYLED = re.compile(rf"(?:{_TEXT}|{_STYLE})*+")
"""The most common case: text and styles (SGR)."""
_LINKED = rf"(?:{_TEXT}|{_STYLE}|{_LINK}|{_MARK})*+"
"""Also links (OSC 8) and the mark of a prompt. Compiled when a row has one."""

_BASE64 = r"[A-Za-z0-9+/=]*"
# What pi.tui.images writes into rows. Other commands of the same protocols read and delete files
# (Kitty's t=f and t=t) or store downloads (iTerm2 without inline=1).
_KITTY = r"\x1b_Ga=p,q=2,C=1,i=\d+,p=1,c=\d+,r=\d+\x1b\\"
_ITERM = (
    r"\x1b\]1337;File=inline=1(?:;(?:size|width|height|preserveAspectRatio|name)=[A-Za-z0-9+/=%]*)*"
    rf":{_BASE64}\x07"
)
_SIXEL = r"\x1bP0;1;0q[!-~]*\x1b\\"
_DRAWN_FROM_BELOW = rf"\x1b7(?:\x1b\[\d+A)?(?:{_ITERM}|{_SIXEL})\x1b8"


def permitted(row: str) -> str:
    """Remove controls and all sequences except styles, links, prompt marks and our images.

    Removed sequences take no column, so the width does not change.
    """
    if row.isprintable() or _STYLED.fullmatch(row) or re.fullmatch(_LINKED, row):
        return row
    return _sequence_pattern().sub(lambda match: match["ours"] or "", row)


@cache
def _sequence_pattern() -> re.Pattern[str]:
    """Compile the pattern for the first row that is more than styled text."""
    ours = "|".join((r"[\t\n]", _STYLE, _LINK, _MARK, _KITTY, _DRAWN_FROM_BELOW))
    return re.compile(f"(?P<ours>{ours})|{SEQUENCE.pattern}|[{_BIDI}]", re.VERBOSE)


END_OF_STYLES = "\x1b[0m\x1b]8;;\x07"
"""Ends all styles and the hyperlink of a row."""

WRAP_OFF, WRAP_ON = "\x1b[?7l", "\x1b[?7h"
ERASE_REST = "\x1b[K"
ERASE_ROW = "\x1b[2K"

_IMAGE = r"\x1b_G|\x1b\]1337;File|\x1bP[0-9;]*q"
_FROM_BELOW = r"\x1b7\x1b\[(\d+)A[^\x07]*?(?:\x07|\x1b\\)\x1b8"
"""An image that is drawn from its last row, see ``pi.tui.images.graphics``."""
_CERTAIN_RANGES = (
    (" ", "~"),
    ("\u00c0", "\u024f"),  # Latin
    ("\u0400", "\u0482"),  # Cyrillic
    ("\u3041", "\u3096"),  # Japanese
    ("\u30a1", "\u30fa"),
    ("\u4e00", "\u9fff"),  # Chinese
    ("\uac00", "\ud7a3"),  # Korean
)
"""Characters with the same width in all terminals, so that columns after them are certain."""
_UNCERTAIN = (
    "[\u0300-\u036f\u0483-\u0489\u0591-\u109f\u1700-\u1dff\u200c\u200d\u20d0-\u20ff"
    "\u302a-\u302f\u3099\u309a\ua66f-\uabff\ufe00-\ufe2f\U00010000-\U0010ffff]"
)
"""Characters whose width differs between terminals, especially in the last column.

Includes blocks with combining marks: next to the last column, Ghostty adds them to the previous
contents.
"""


class LineTooWide(Exception):
    """A component returned a row that is too wide. Raised by strict screens only."""


class ForeignSequence(Exception):
    """A component returned a row with a forbidden sequence. Raised by strict screens only."""


class Change(NamedTuple):
    """The text that turns one row into another, and the column at which to write it."""

    column: int
    text: str


class Caret(NamedTuple):
    """The position of the terminal's cursor, relative to the window."""

    row: int
    column: int


class RowPrinter:
    """Converts rows to bytes for a window of ``width`` columns.

    The old contents are erased first if the width of a row is uncertain: remains would be visible
    or combine with a flag. Erasing afterwards would erase the last cell.

    Only ``permitted`` sequences are written. A row that is too wide is cut. Both are logged, or
    raise ``ForeignSequence`` and ``LineTooWide`` if ``strict``.

    With ``erases_first`` nothing is erased after a row: tmux includes cells that were written and
    then erased when it wraps a row, unless the whole row was erased.
    """

    def __init__(self, width: int, *, strict: bool = False, erases_first: bool = False) -> None:
        self._width = width
        self._strict = strict
        self._erases_first = erases_first

    def render(self, row: str, *, fresh: bool = False) -> str:
        """Return a complete row for the start of a line, which is blank if ``fresh``."""
        row, columns = self._fitted(row)
        text = row + END_OF_STYLES
        if fresh:
            return text
        is_short = self._erases_first and columns < self._width
        if is_short or is_image(row) or not has_certain_width(row):
            return ERASE_ROW + text
        return text + ERASE_REST if columns < self._width else text

    def unbroken(self, row: str) -> str:
        """Return a complete row for a blank line. The terminal wraps it if it is too wide.

        It counts as one row in the terminal's history, and is complete even if the terminal has
        become narrower unnoticed.
        """
        if not has_certain_width(row):
            return self.render(row, fresh=True)
        row = self._permitted(row)
        return f"{WRAP_ON}{row}{END_OF_STYLES}{WRAP_OFF}"

    def lines(self, row: str) -> int:
        """Return how many lines a row takes that is written with ``unbroken``."""
        return len(lines_of(row, self._width)) if has_certain_width(row) else 1

    def change(self, old: str, new: str) -> Change:
        """Return the shortest change from ``old`` to ``new``."""
        new, columns = self._fitted(new)
        old = permitted(old)  # as it was written
        start, state = _first_difference(old, new)
        is_shorter = columns < min(visible_width(old), self._width)
        if start == 0 or is_image(old) or is_image(new) or (is_shorter and self._erases_first):
            return Change(0, self.render(new))
        opening, rest = state.opening(), new[start:]
        text = opening + rest + (END_OF_STYLES if opening or "\x1b" in rest else "")
        if not has_certain_width(rest):
            text = ERASE_REST + text
        elif is_shorter:
            text += ERASE_REST
        return Change(visible_width(new[:start]), text)

    def _fitted(self, row: str) -> tuple[str, int]:
        """Return the row cut to the width, and its columns."""
        if "\t" in row or "\n" in row or "\r" in row:
            if self._strict and "\t" not in row:
                raise LineTooWide(f"a row contains a line break: {row!r}")
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
        clean = permitted(row)
        if clean is not row and clean != row:
            message = f"a row contains a forbidden control sequence: {row!r}"
            if self._strict:
                raise ForeignSequence(message)
            log.warning("removed: %s", message)
        return clean


def has_certain_width(row: str) -> bool:
    """Return whether all terminals agree on the width of a row."""
    # Nearly all rows are simple, so the first frame need not compile the pattern.
    return is_simple(strip_sequences(row)) or re.search(_UNCERTAIN, row) is None


def lines_of(row: str, width: int) -> list[int]:
    """Return the width of each line of a wrapped row. A wide character is never split."""
    columns = visible_width(row)
    if columns <= width:
        return [columns]
    lines = [0]
    for grapheme in graphemes(strip_sequences(row)):
        cells = grapheme_width(grapheme)
        if lines[-1] + cells > width:
            lines.append(0)
        lines[-1] += cells
    return lines


def is_image(row: str) -> bool:
    """Return whether a row contains an image."""
    begins = "\x1b_" in row or "\x1b]1" in row or "\x1bP" in row
    return begins and re.search(_IMAGE, row) is not None


def without_markers(row: str) -> str:
    """Return the row without the cursor marker, which is for the screen only."""
    return row.replace(CURSOR_MARKER, "") if CURSOR_MARKER in row else row


def window_rows(rows: Sequence[str]) -> list[str]:
    """Return rows as they are written from the first row of a window on."""
    return [clipped(without_markers(row), index) for index, row in enumerate(rows)]


def clipped(row: str, rows_above: int) -> str:
    """Remove an image that begins above the screen, given the rows above this one.

    The cursor would stop at the upper edge, and the image would cover the rows below.
    """
    if "\x1b7" not in row:
        return row
    return re.sub(_FROM_BELOW, lambda match: match[0] if int(match[1]) <= rows_above else "", row)


def find_caret(rows: list[str]) -> Caret | None:
    """Return the position of the lowest cursor marker."""
    for number in range(len(rows) - 1, -1, -1):
        before, marker, _ = rows[number].rpartition(CURSOR_MARKER)
        if marker:
            return Caret(number, visible_width(before))
    return None


def _first_difference(old: str, new: str) -> tuple[int, StyleState]:
    """Return the first differing index where a cursor can be set, and the active styles."""
    index = next(
        (position for position, (was, now) in enumerate(zip(old, new, strict=False)) if was != now),
        min(len(old), len(new)),
    )
    # There is always a grapheme boundary between two ASCII characters.
    while index and not all(map(_is_plain, (old[index : index + 1], new[index - 1 : index + 1]))):
        index -= 1
    state = StyleState()
    for sequence in SEQUENCE.finditer(new):
        if sequence.start() >= index:
            break
        if sequence.end() > index or not state.apply(sequence[0]):
            return 0, state
    return (index if _is_certain(strip_sequences(new[:index])) else 0), state


def _is_certain(text: str) -> bool:
    """Return whether terminals agree on the width of a text."""
    return text.isascii() or all(
        any(first <= char <= last for first, last in _CERTAIN_RANGES) for char in text
    )


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable()


class Layer(Record, kw_only=False):
    """Rows that cover a part of the window, from a cell of the screen on."""

    row: int
    column: int
    width: int
    lines: Sequence[str]


def composite(window: Sequence[str], layers: Sequence[Layer], *, width: int) -> list[str]:
    """Draw ``layers`` over the window, the last one on top. The window grows as needed.

    The frame below and its history are not changed.
    """
    rows = list(window)
    for layer in layers:
        rows += [""] * (layer.row + len(layer.lines) - len(rows))
        for number, line in enumerate(layer.lines, layer.row):
            rows[number] = _covered(rows[number], line, layer, width)
    return rows


def _covered(below: str, line: str, layer: Layer, width: int) -> str:
    """Draw one line of a layer over one row."""
    end = layer.column + layer.width
    left = pad_to_width(slice_columns(below, 0, layer.column), layer.column)
    middle = pad_to_width(slice_columns(line, 0, layer.width), layer.width)
    right = slice_columns(below, end, max(width - end, 0))
    return f"{left}{END_OF_STYLES}{middle}{END_OF_STYLES}{right}"

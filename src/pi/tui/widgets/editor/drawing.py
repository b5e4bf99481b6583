"""The rows of an editor: borders, text, cursor."""

from __future__ import annotations

from pi.base.terminal_text import one_line
from pi.tui.component import CURSOR_MARKER
from pi.tui.style import Paint
from pi.tui.text.slicing import truncate_to_width
from pi.tui.text.width import visible_width

_INVERSE, _PLAIN = "\x1b[7m", "\x1b[27m"


def border(width: int, paint: Paint, *, label: str = "", note: str = "") -> str:
    """A line of ``width`` columns, with a label in it or, if there is none, a note.

    A label may have styles of its own; the line around it is painted.
    """
    text = label or note
    if not text or width < 8:
        return paint("─" * width)
    text = truncate_to_width(text, width - 6, "…")
    tail = width - 4 - visible_width(text)
    return f"{paint('── ')}{text if label else paint(text)}{paint(' ' + '─' * tail)}"


def with_cursor(text: str, at: int, unit: str, *, width: int) -> str:
    """A row with the cursor on the unit at a place, or behind the text.

    ``CURSOR_MARKER`` comes first, so that the terminal's own cursor, and with it the window of an
    input method, is at the same place.
    """
    behind = text[at + len(unit) :]
    if not unit and visible_width(text) >= width:  # no column is left behind the text
        at = max(at - 1, 0)
        unit, behind = text[at:], ""
    if visible_width(unit) > width:
        unit = " "
    return f"{text[:at]}{CURSOR_MARKER}{_INVERSE}{unit or ' '}{_PLAIN}{behind}"


def plain_label(text: str) -> str:
    """Text from elsewhere, fit for a border."""
    return one_line(text)

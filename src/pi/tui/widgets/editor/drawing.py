"""The rows of an editor: borders, text, cursor."""

from __future__ import annotations

from pi.tui.component import CURSOR_MARKER
from pi.tui.style import Paint, inverse
from pi.tui.text.slicing import truncate_to_width
from pi.tui.text.width import visible_width
from pi.tui.widgets.editor.units import Units


def border(width: int, paint: Paint, *, label: str = "", note: str = "") -> str:
    """A line of ``width`` columns, with a label in it, a note, or the note behind the label.

    A label may have styles of its own; the line around it is painted.
    """
    text = label or note
    if not text or width < 8:
        return paint("─" * width)
    text = truncate_to_width(text, width - 6, "…")
    tail = width - 4 - visible_width(text)
    end = f" {note} ──" if label and note else ""
    line = "─" * (tail - visible_width(end)) + end
    if visible_width(line) != tail or line == end:  # there is no room for both
        line = "─" * tail
    return f"{paint('── ')}{text if label else paint(text)}{paint(' ' + line)}"


def text_row(text: str, cursor: int | None, units: Units, *, width: int) -> str:
    """A row of text, at most ``width`` columns, with the cursor at a place in it if there is one.

    ``CURSOR_MARKER`` comes right before the cursor that is drawn, so that the terminal's own, and
    with it the window of an input method, is at the same place.
    """
    if cursor is None:
        return truncate_to_width(text, width, "…")
    end = units.after(text, cursor)
    unit = text[cursor:end]
    head = truncate_to_width(text[:cursor], max(width - 1, 0), "")
    room = width - visible_width(head)
    shown = truncate_to_width(unit if visible_width(unit) else " ", room, "…")
    tail = truncate_to_width(text[end:], room - visible_width(shown), "…")
    return f"{head}{CURSOR_MARKER}{inverse(shown)}{tail}"

"""What stands on the terminal below its history, as far as it is known."""

from __future__ import annotations

from pi.tui.screen.rows import Caret


class Window:
    """What stands on the terminal: at first a line with nothing on it, where the cursor is."""

    def __init__(self, rows: int = 1) -> None:
        self.rows = [""] * rows
        self.cursor = Caret(rows - 1, 0)
        self.way = ""
        """What brings the cursor where it is said to be, if that is not known."""
        self.cursor_is_shown = False
        self.is_covered = False
        """Whether an overlay lies over the rows."""
        self.is_trusted = False
        """Whether the terminal is known to be as we left it, from the first row on."""


def found_at(top: int, *, height: int) -> Window:
    """The window from a row of the screen on; the cursor may be anywhere."""
    window = Window(height - top)
    window.cursor = Caret(0, 0)
    window.way = f"\x1b[{height}A" + (f"\x1b[{top}B" if top else "")
    return window


def disturbed(window: Window, *, before: int, height: int) -> Window:
    """A window that filled the screen until frames were written that did not fit any more.

    They left the cursor anywhere. Rows that history may have given back are left alone: those by
    which the screen is higher, and as many as a screen that gets lower and higher gives up at its
    end, below the cursor.
    """
    kept = len(window.rows) - 1 - window.cursor.row + max(0, height - before)
    return found_at(min(kept, height - 1), height=height)

"""An editor for tests: keys to press, and the rows it shows."""

from __future__ import annotations

import re

from pi.tui.component import CURSOR_MARKER
from pi.tui.widgets.editor.editor import Editor

UP, DOWN, LEFT, RIGHT = "\x1b[A", "\x1b[B", "\x1b[D", "\x1b[C"
ENTER, SHIFT_ENTER, BACKSPACE, ESCAPE = "\r", "\x1b[13;2u", "\x7f", "\x1b"
CTRL_A, CTRL_D, CTRL_U, CTRL_W, CTRL_Y, UNDO = "\x01", "\x04", "\x15", "\x17", "\x19", "\x1f"


def pressed(editor: Editor, *keys: str) -> Editor:
    for key in keys:
        editor.handle_input(key)
    return editor


def shown(editor: Editor, width: int = 20) -> list[str]:
    """Returns the rows, with the cursor as a bar."""
    rows = editor.render(width)
    marked = (row.replace(CURSOR_MARKER, "|") for row in rows)
    return [re.sub(r"\x1b\[[0-9;]*m", "", row) for row in marked]

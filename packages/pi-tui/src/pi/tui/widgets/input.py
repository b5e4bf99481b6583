"""A single-line text field."""

from __future__ import annotations

from collections.abc import Callable

from pi.base.terminal_text import one_line, sanitise_keeping_style
from pi.tui.component import CURSOR_MARKER
from pi.tui.containers import CachedWidget
from pi.tui.input.decoder import PASTE_END, PASTE_START
from pi.tui.input.keymap import Keymap
from pi.tui.input.keys import printable_text
from pi.tui.style import Paint, inverse, unpainted
from pi.tui.text.width import graphemes, slice_columns, truncate_to_width, visible_width
from pi.tui.widgets.editor.document import Document, edit

_MASK = "•"


class Input(CachedWidget):
    """One line of text after a prompt, scrolled horizontally with the cursor.

    A ``masked`` field shows dots and keeps only the value: no undo, no yank. ``placeholder`` is
    shown, painted, while the field is empty.
    """

    def __init__(
        self,
        *,
        prompt: str = "> ",
        placeholder: str = "",
        masked: bool = False,
        placeholder_paint: Paint = unpainted,
        keymap: Keymap | None = None,
        on_submit: Callable[[str], None] = lambda value: None,
        on_cancel: Callable[[], None] = lambda: None,
        on_change: Callable[[str], None] = lambda value: None,
    ) -> None:
        self._prompt = sanitise_keeping_style(prompt)
        self._placeholder = one_line(placeholder)
        self._masked = masked
        self._placeholder_paint = placeholder_paint
        self._keymap = keymap or Keymap()
        self._on_submit = on_submit
        self._on_cancel = on_cancel
        self._on_change = on_change
        self._document = Document(private=masked, single_line=True)
        self._first_column = 0
        """The number of columns scrolled out at the left."""
        self.focused = False
        """Whether the cursor is shown."""

    def get_value(self) -> str:
        """Return the text of the field."""
        return self._document.buffer.text

    def set_value(self, value: str) -> None:
        """Replace the text; the cursor moves to its end."""
        self._document.set_text(value)
        self.invalidate()

    def handle_input(self, data: str) -> None:
        """Handle one key or one paste."""
        self.invalidate()
        before = self._document.version
        actions = self._keymap.actions(data)
        if data.startswith(PASTE_START):
            self._document.paste(data.removeprefix(PASTE_START).removesuffix(PASTE_END))
        elif "tui.input.submit" in actions:
            self._on_submit(self.get_value())
        elif "tui.select.cancel" in actions:
            self._on_cancel()
        elif not edit(self._document, actions) and (text := printable_text(data)):
            self._document.type(text)
        if self._document.version != before:
            self._on_change(self.get_value())

    def _cache_key(self) -> object:
        return self.focused

    def _draw(self, width: int) -> list[str]:
        prompt = truncate_to_width(self._prompt, max(width - 1, 0), "")
        text_width = max(width - visible_width(prompt), 1)
        if not self._document.buffer.text and self._placeholder:
            hint = truncate_to_width(self._placeholder, text_width, "…")
            if not self.focused:
                return [prompt + self._placeholder_paint(hint)]
            first = next(graphemes(hint), " ")
            hint = inverse(first) + hint.removeprefix(first)
            return [f"{prompt}{CURSOR_MARKER}{self._placeholder_paint(hint)}"]
        before, cursor_text, after = self._parts()
        start, size = visible_width(before), max(visible_width(cursor_text), 1)
        furthest = max(start + visible_width(cursor_text + after) + 1 - text_width, 0)
        self._first_column = max(
            min(self._first_column, start, furthest), start + size - text_width, 0
        )
        head = slice_columns(before, self._first_column, start - self._first_column)
        tail = slice_columns(after, 0, max(self._first_column + text_width - start - size, 0))
        if not self.focused:
            return [prompt + truncate_to_width(f"{head}{cursor_text}{tail}", text_width, "")]
        visible = cursor_text if size <= text_width else ""
        return [f"{prompt}{head}{CURSOR_MARKER}{inverse(visible or ' ')}{tail}"]

    def _parts(self) -> tuple[str, str, str]:
        """Return the text before, at and after the cursor, masked if required."""
        line, units = self._document.buffer.text, self._document.units
        col = self._document.buffer.cursor.col
        end = units.after(line, col)
        parts = line[:col], line[col:end], line[end:]
        if self._masked:
            before, cursor_text, after = (_MASK * len(units.split(part)) for part in parts)
            return before, cursor_text, after
        return parts

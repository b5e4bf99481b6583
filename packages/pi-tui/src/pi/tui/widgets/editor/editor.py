"""The multi-line text editor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pi.base.clock import SystemClock
from pi.base.tasks import TaskScope
from pi.tui.completion.provider import Provider
from pi.tui.component import CURSOR_MARKER
from pi.tui.containers import CachedWidget
from pi.tui.input.decoder import PASTE_END, PASTE_START
from pi.tui.input.keymap import Keymap
from pi.tui.input.keys import printable_text
from pi.tui.style import inverse
from pi.tui.text.width import truncate_to_width, visible_width
from pi.tui.widgets.editor import motions
from pi.tui.widgets.editor.buffer import START, Position
from pi.tui.widgets.editor.document import Document, edit
from pi.tui.widgets.editor.history import PromptHistory
from pi.tui.widgets.editor.layout import EditorTheme, Row, Viewport, border, text_row
from pi.tui.widgets.editor.motions import Motion
from pi.tui.widgets.editor.suggestions import Sleep, SuggestionPopup

if TYPE_CHECKING:
    from pi.tui.mouse import MouseEvent, MouseResult
    from pi.tui.widgets.editor.vim import VimMode

_MIN_ROWS = 5
_SHARE_OF_SCREEN = 0.3
_VERTICAL = {
    "tui.editor.cursorUp",
    "tui.editor.cursorDown",
    "tui.editor.pageUp",
    "tui.editor.pageDown",
}
_REQUESTS_SUGGESTIONS = {"tui.editor.deleteCharBackward", "tui.editor.deleteCharForward"}


class Editor(CachedWidget):
    """Multi-line text between two borders, with suggestions below.

    ``screen_rows`` returns the height of the screen; the editor uses less than a third of it.
    Providers run in ``tasks`` (without it there are no suggestions), and ``request_render`` is
    called when suggestions arrive. ``on_submit`` receives the text with long pastes in full,
    ``on_change`` the text as shown.
    """

    def __init__(
        self,
        *,
        keymap: Keymap | None = None,
        theme: EditorTheme | None = None,
        screen_rows: Callable[[], int] = lambda: 24,
        tasks: TaskScope | None = None,
        sleep: Sleep | None = None,
        request_render: Callable[[], None] = lambda: None,
    ) -> None:
        theme = theme or EditorTheme()
        self.on_submit: Callable[[str], None] = lambda text: None
        self.on_change: Callable[[str], None] = lambda text: None
        self.focused = False
        """Whether the cursor is shown."""
        self.border_color = theme.border
        self.transient_rows = 0
        """The number of rows with suggestions, in the frame that was drawn last."""
        self.label = ""
        """The label in the top border. It may have styles, and must be sanitised."""
        self.placeholder = ""
        """Shown while there is no text."""
        self.short_placeholder = ""
        """Shown where there is no room for ``placeholder``."""
        self._placeholder_paint = theme.placeholder
        self._keymap = keymap or Keymap()
        self._screen_rows = screen_rows
        self._request_render = request_render
        self._document = Document()
        self._viewport = Viewport(self._document.units)
        self._history = PromptHistory()
        self._browsed = -1
        """The version of the text that the history has inserted."""
        self._popup = SuggestionPopup(
            self._document,
            self._keymap,
            theme.suggestions,
            tasks=tasks,
            sleep=sleep or SystemClock().sleep,
            deliver=self._deliver,
            entered=self._entered,
        )
        self._vim: VimMode | None = None
        self._jump: Callable[[str], Motion] | None = None
        self._padding = 0
        self._width = 80
        self._height = 24
        """The height of the screen when the editor was last drawn."""

    def get_text(self) -> str:
        """Return the text as shown, with markers for long pastes."""
        return self._document.buffer.text

    def get_expanded_text(self) -> str:
        """Return the text to submit, with long pastes in full."""
        return self._document.expanded

    def set_text(self, text: str) -> None:
        """Replace the text, which can be undone; the cursor moves to its end."""
        self._popup.close()
        self._change(lambda: self._document.set_text(text))

    def insert_text_at_cursor(self, text: str) -> None:
        """Insert text without a paste marker, however long it is."""
        self._popup.close()
        self._change(lambda: self._document.insert(text))

    @property
    def history(self) -> Sequence[str]:
        """The earlier prompts, the oldest first."""
        return self._history.entries

    def add_to_history(self, text: str) -> None:
        """Add a prompt to the history."""
        self._history.add(text)

    def set_autocomplete_provider(self, provider: Provider) -> None:
        """Set the completion provider."""
        self._popup.set_provider(provider)
        super().invalidate()

    def set_autocomplete_max_visible(self, rows: int) -> None:
        """Set how many suggestions are visible, starting with the next ones."""
        self._popup.max_visible = rows

    def set_padding_x(self, columns: int) -> None:
        """Set the free columns on both sides of the text."""
        self._padding = max(columns, 0)
        super().invalidate()

    def set_vim(self, *, enabled: bool) -> None:
        """Switch the keys of vim on or off; they start in insert mode."""
        if enabled == (self._vim is not None):
            return
        from pi.tui.widgets.editor.vim import VimMode  # deferred: few users switch it on

        self._vim = VimMode(self._document, self) if enabled else None
        super().invalidate()

    def captures(self, data: str) -> bool:
        """Whether the mode of the editor handles a key before the application does."""
        if self._vim is None or self._popup.is_open:
            return False
        return self._vim.captures(self._keymap.actions(data))

    def browse_history(self, step: int) -> None:
        """Show an earlier (-1) or later prompt."""
        if step < 0:
            self._history_previous()
        else:
            self._history_next()

    def handle_input(self, data: str) -> None:
        """Handle one key or one paste."""
        self._change(lambda: self._process_input(data))

    def handle_mouse(self, event: MouseEvent) -> MouseResult | None:
        """Move the cursor to where the left button is pressed, and request the focus."""
        row = event.y - 1
        if (event.type, event.button) != ("press", "left") or row < 0:
            return None
        self._lay_out()
        if row >= len(self._viewport.visible):
            return None
        position = self._viewport.at(row, max(event.x - self._pad(self._width), 0))
        self._popup.close()
        self._viewport.target_column = None
        self._change(lambda: self._document.move_to(position))
        # lazy: needed in fullscreen mode only, where it is loaded already
        from pi.tui.mouse import MouseResult

        return MouseResult(handled=True, focus=True, render=True)

    def invalidate(self) -> None:
        """Discard cached rows."""
        super().invalidate()
        self._popup.invalidate()

    def _cache_key(self) -> object:
        self._height = self._screen_rows()
        return self.focused, self.label, self.border_color, self._height

    def _draw(self, width: int) -> list[str]:
        """Return the borders, the rows of text around the cursor, and suggestions."""
        self._width = width
        self._lay_out()
        view, paint = self._viewport, self.border_color
        above = f"↑ {view.above} more" if view.above else ""
        below = f"↓ {view.below} more" if view.below else ""
        top = border(width, paint, label=self.label, note=above)
        mode = paint(self._vim.label) if self._vim else ""
        is_same = (mode, below) == (self.label, above)  # nearly always: plain lines
        bottom = top if is_same else border(width, paint, label=mode, note=below)
        rows = [top]
        cursor_at = view.cursor_row - view.above if self.focused else -1
        margin = " " * self._pad(width)
        suggestions = self._popup.render(width)
        self.transient_rows = len(suggestions)
        if self.placeholder and not self._document.buffer.text:
            text_width, has_cursor = width - len(margin), cursor_at == 0
            rows.append(margin + self._draw_placeholder(text_width, has_cursor=has_cursor))
            return [*rows, bottom, *suggestions]
        for number, row in enumerate(view.visible):
            text = self._document.buffer.lines[row.line][row.start : row.end]
            cursor = self._document.buffer.cursor.col - row.start if number == cursor_at else None
            selected = self._selected_columns(row) if self._vim else None
            drawn = text_row(
                text, cursor, self._document.units, width=width - len(margin), selected=selected
            )
            rows.append(margin + drawn)
        return [*rows, bottom, *suggestions]

    def _selected_columns(self, row: Row) -> tuple[int, int] | None:
        """Return the selected part of a row, as characters of the row."""
        selection = self._vim.selection if self._vim else None
        if selection is None or not selection[0].row <= row.line <= selection[1].row:
            return None
        start, end = selection
        first = start.col if start.row == row.line else 0
        last = end.col if end.row == row.line else row.end
        return max(first - row.start, 0), min(last, row.end) - row.start

    def _draw_placeholder(self, width: int, *, has_cursor: bool) -> str:
        text_width = max(width - 1, 0)
        fits = visible_width(self.placeholder) <= text_width or not self.short_placeholder
        text = truncate_to_width(
            self.placeholder if fits else self.short_placeholder, text_width, "…"
        )
        if not has_cursor:
            return self._placeholder_paint(text)
        first = text[:1] or " "
        return f"{CURSOR_MARKER}{inverse(first)}{self._placeholder_paint(text[1:])}"

    def _pad(self, width: int) -> int:
        return min(self._padding, max(width - 2, 0) // 2)

    def _lay_out(self) -> None:
        # One column stays free at the right, in the padding if there is some, for the cursor after
        # a full row.
        padding = self._pad(self._width)
        width = self._width - max(2 * padding, 1)
        height = max(_MIN_ROWS, int(self._height * _SHARE_OF_SCREEN))
        self._viewport.update(
            self._document.buffer.lines, self._document.buffer.cursor, width=width, height=height
        )

    def _change(self, do: Callable[[], None]) -> None:
        """Run an operation and call ``on_change`` if it changed the text."""
        before = self._document.version
        do()
        super().invalidate()
        if self._document.version != before:
            self._viewport.target_column = None
            if self._vim is not None:
                self._vim.text_changed()
            self.on_change(self._document.buffer.text)

    def _deliver(self, do: Callable[[], None]) -> None:
        self._change(do)
        self._request_render()

    def _process_input(self, data: str) -> None:
        if self._popup.is_entering:  # further typing cancels the pending Enter
            self._popup.close()
            self._submit()
        if data.startswith(PASTE_START):
            self._popup.close()
            self._document.paste(data.removeprefix(PASTE_START).removesuffix(PASTE_END))
            return
        if self._vim is not None and (key := self._key_after_escape(data)):
            self._process_input("\x1b")
            self._process_input(key)
            return
        text = printable_text(data)
        jump, self._jump = self._jump, None
        if jump is not None and text:
            self._document.move(jump(text))
            return
        actions = self._keymap.actions(data)
        vim = self._vim
        if vim and not self._popup.is_open and vim.handle_input(data, actions, text):
            self._popup.close()
            return
        if not _VERTICAL.intersection(actions):
            self._viewport.target_column = None
        self._press(data, actions, text)

    def _press(self, data: str, actions: Sequence[str], text: str) -> None:
        if not actions:  # an ordinary character
            self._type(text)
            return
        match self._popup.handle_input(data, actions):
            case "handled":
                return
            case "submit":
                self._submit()
            case "ignored":
                self._act(actions, text)

    def _key_after_escape(self, data: str) -> str:
        """Return the key after Escape if both arrived in one read; empty for all other input.

        Without the Kitty protocol, terminals send a key with Alt in the same way. It counts as
        Escape, as in vim and Neovim, unless the application has an action for the key.
        """
        if len(data) != 2 or data[0] != "\x1b" or not data[1].isprintable():
            return ""
        bound = self._keymap.actions(data)
        return "" if any(action.startswith("app.") for action in bound) else data[1]

    def _act(self, actions: Sequence[str], text: str) -> None:
        for action in actions:
            if do := _ACTIONS.get(action):
                self._popup.close()
                do(self)
                return
        if done := edit(self._document, actions):
            if done in _REQUESTS_SUGGESTIONS:
                self._popup.request()
            else:
                self._popup.close()
        else:
            self._type(text)

    def _type(self, text: str) -> None:
        if text:
            self._document.type(text)
            self._popup.request()

    def _up(self) -> None:
        self._lay_out()
        if not self._viewport.on_first_row:
            self._document.move_to(self._viewport.moved(-1))
        elif self._is_browsing or self._document.buffer.cursor == START:
            self._history_previous()
        else:
            self._document.move(motions.line_start)

    def _down(self) -> None:
        self._lay_out()
        if not self._viewport.on_last_row:
            self._document.move_to(self._viewport.moved(1))
        elif self._is_browsing:
            self._history_next()
        else:
            self._document.move(motions.line_end)

    def _page(self, pages: int) -> None:
        self._lay_out()
        self._document.move_to(self._viewport.moved(pages * self._viewport.page))

    @property
    def _is_browsing(self) -> bool:
        return self._history.browsing and self._document.version == self._browsed

    def _history_previous(self) -> None:
        if not self._is_browsing:
            self._history.leave()
        self._show(self._history.previous(self._document.buffer.text), START)

    def _history_next(self) -> None:
        if self._is_browsing:
            self._show(self._history.next(), None)

    def _show(self, text: str | None, cursor: Position | None) -> None:
        if text is not None:
            self._document.set_text(text, cursor, browsing=True)
            self._browsed = self._document.version

    def _jump_by(self, motion: Callable[[str], Motion]) -> None:
        """Wait for a key, and jump to that character."""
        self._jump = motion

    def _entered(self) -> None:
        """Handle a pending Enter once the suggestions are known."""
        if self._popup.confirm() != "handled":
            self._popup.close()
            self._submit()

    def _submit(self) -> None:
        row, col = self._document.buffer.cursor
        if self._document.buffer.lines[row][:col].endswith("\\"):
            self._document.delete(motions.left)
            self._document.insert("\n")
            return
        text = self._document.expanded.strip()
        self._document.clear()
        if self._vim is not None:
            self._vim.reset()
        self._history.leave()
        self.on_submit(text)


_ACTIONS: dict[str, Callable[[Editor], None]] = {
    "tui.editor.cursorUp": Editor._up,
    "tui.editor.cursorDown": Editor._down,
    "tui.editor.pageUp": lambda editor: editor._page(-1),
    "tui.editor.pageDown": lambda editor: editor._page(1),
    "tui.editor.historyPrevious": Editor._history_previous,
    "tui.editor.historyNext": Editor._history_next,
    "tui.editor.jumpForward": lambda editor: editor._jump_by(motions.forward_to),
    "tui.editor.jumpBackward": lambda editor: editor._jump_by(motions.back_to),
    "tui.input.newLine": lambda editor: editor._document.insert("\n"),
    "tui.input.submit": Editor._submit,
    "tui.input.tab": lambda editor: editor._popup.complete(),
}
"""Actions beyond the edits that every field has."""

"""Draws a terminal on an overlay, and turns keys into what programs in it expect."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pi.extension import Theme, one_line, sanitise_keeping_style
from pi.tui.component import CURSOR_MARKER
from pi.tui.input.key_codes import ALT, BY_LETTER, BY_NUMBER, CTRL, SHIFT
from pi.tui.input.keys import is_key_release, matches_key, parse, printable_text
from pi.tui.text.width import truncate_to_width, visible_width

PASTE_START, PASTE_END = "\x1b[200~", "\x1b[201~"
STOP_KEY = "ctrl+]"
"""Ends the program, also one that needs Escape itself."""

_PALETTE = re.compile(r"(?:\x1b\]4;[^\x1b]*\x1b\\)+")
"""The formatter of the emulator begins every text with its colours."""
_LETTERS = {name: letter for letter, name in BY_LETTER.items() if name not in ("clear",)}
_NUMBERS = {name: number for number, name in reversed(BY_NUMBER.items())}
_PLAIN = {"enter": "\r", "tab": "\t", "escape": "\x1b", "backspace": "\x7f", "space": " "}
_WITH_MODIFIER = {("tab", SHIFT): "\x1b[Z", ("backspace", CTRL): "\x08", ("space", CTRL): "\0"}
_FUNCTION_KEYS = ("f1", "f2", "f3", "f4")


class Emulator:
    """A terminal in memory. Constructing it imports pyghostty, which takes 0.3 s."""

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        import pyghostty  # lazy: an extra
        from pyghostty import core

        self._lib, self._core = pyghostty.lib, core
        self._terminal = pyghostty.Terminal(columns, rows)
        self.on_reply: Callable[[Callable[[bytes], None]], None] = self._terminal.on_reply
        """Subscribes to what the terminal sends back, such as reports of the cursor's position."""
        self.feed: Callable[[bytes], None] = self._terminal.feed
        """Handles output of the program."""
        self.resize: Callable[[int, int], None] = self._terminal.resize
        """Changes the size, in columns and rows."""

    def contents(self) -> str:
        """The text of scrollback and screen, without the screen of a full-screen program."""
        return str(self._terminal.contents())

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        columns, rows = self._terminal.size
        return columns, rows

    @property
    def is_full_screen(self) -> bool:
        """Whether the program uses the alternate screen, as editors do."""
        return any(self._terminal.mode(number) for number in (47, 1047, 1049))

    @property
    def application_cursor(self) -> bool:
        """Whether arrow keys are sent in application mode."""
        return bool(self._terminal.mode(1))

    @property
    def bracketed_paste(self) -> bool:
        """Whether the program distinguishes pasted from typed text."""
        return bool(self._terminal.mode(2004))

    def rows(self, *, cursor: bool) -> list[str]:
        """The visible rows with their styles; the cursor is drawn in reverse."""
        columns, rows = self.size
        x, y = self._terminal.cursor
        shows_cursor = cursor and self._terminal.mode(25)
        lines = [self._text(row, 0, columns - 1) for row in range(rows)]
        if shows_cursor and y < rows:
            x = min(x, columns - 1)
            before = self._text(y, 0, x - 1) if x else ""
            before += " " * (x - visible_width(before))
            cell = self._text(y, x, x) or " "
            after = self._text(y, x + 1, columns - 1) if x + 1 < columns else ""
            lines[y] = f"{before}{CURSOR_MARKER}\x1b[7m{_unstyled(cell)}\x1b[0m{after}"
        return lines

    def _text(self, row: int, first: int, last: int) -> str:
        # Row by row, because each row of the screen must set its own styles. The Python class only
        # returns plain text, so the library is called directly.
        selection = self._core.init_sized("GhosttySelection")
        selection.start = self._terminal.ref(first, row)[0]
        selection.end = self._terminal.ref(last, row)[0]
        options = self._core.init_sized("GhosttyTerminalSelectionFormatOptions")
        options.emit = self._lib.GHOSTTY_FORMATTER_FORMAT_VT
        options.selection = selection
        handle = self._terminal._t[0]
        text = self._core.read_buf(
            lambda buffer, size, used: self._lib.ghostty_terminal_selection_format_buf(
                handle, options[0], buffer, size, used
            )
        )
        return sanitise_keeping_style(_PALETTE.sub("", text)).replace("\r\n", "")


class TerminalOverlay:
    """The terminal of a program, with a title and the key that ends it. All other keys go in."""

    def __init__(
        self,
        emulator: Emulator,
        tui: Any,
        theme: Theme,
        *,
        title: str,
        type_keys: Callable[[bytes], None],
        resize: Callable[[int, int], None],
        stop: Callable[[], None],
    ) -> None:
        self.focused = True
        self._emulator = emulator
        self._tui = tui
        self._theme = theme
        self._title = one_line(title)
        self._type = type_keys
        self._resize = resize
        self._stop = stop

    def invalidate(self) -> None:
        """Nothing is cached."""

    def render(self, width: int) -> list[str]:
        """The title, the rows of the terminal, and the hint; the terminal follows the size."""
        height = max(1, self._tui.terminal.size.rows - 2)
        if self._emulator.size != (width, height):
            self._emulator.resize(width, height)
            self._resize(width, height)
        rows = self._emulator.rows(cursor=self.focused)
        title = truncate_to_width(f" {self._title} ", max(1, width - 4))
        line = f"──{title}" + "─" * max(0, width - 2 - visible_width(title))
        hint = truncate_to_width(f" {self._hint}", width)
        padded = [row + " " * max(0, width - visible_width(row)) for row in rows]
        return [
            self._theme.fg("accent", line),
            *padded,
            self._theme.fg("dim", hint + " " * max(0, width - visible_width(hint))),
        ]

    def handle_input(self, data: str) -> None:
        """Send a key or a paste to the program; Escape ends one that has no screen of its own."""
        if is_key_release(data):
            return
        full_screen = self._emulator.is_full_screen
        if matches_key(data, STOP_KEY) or (matches_key(data, "escape") and not full_screen):
            self._stop()
            return
        keys = encode_key(
            data,
            application_cursor=self._emulator.application_cursor,
            bracketed_paste=self._emulator.bracketed_paste,
        )
        if keys:
            self._type(keys)

    @property
    def _hint(self) -> str:
        key = "Ctrl+]" if self._emulator.is_full_screen else "Escape or Ctrl+]"
        return f"{key} ends the program; all other keys go to it"


def encode_key(data: str, *, application_cursor: bool, bracketed_paste: bool) -> bytes:
    """The bytes that a classic terminal sends for a key, whatever the user's terminal sent."""
    if data.startswith(PASTE_START):
        text = data if bracketed_paste else data[len(PASTE_START) :].removesuffix(PASTE_END)
        return text.encode("utf-8", "replace")
    if text := printable_text(data):
        return text.encode("utf-8", "replace")
    stroke = parse(data)
    if stroke is None:
        return data.encode("utf-8", "replace")
    return _encoded(stroke.key, stroke.modifiers, application_cursor=application_cursor).encode(
        "utf-8", "replace"
    )


def _encoded(key: str, modifiers: int, *, application_cursor: bool) -> str:
    parameter = 1 + (modifiers & (SHIFT | ALT | CTRL))
    if letter := _LETTERS.get(key):
        if parameter > 1:
            return f"\x1b[1;{parameter}{letter}"
        applies = application_cursor or key in _FUNCTION_KEYS
        return f"\x1bO{letter}" if applies else f"\x1b[{letter}"
    if number := _NUMBERS.get(key):
        return f"\x1b[{number}~" if parameter == 1 else f"\x1b[{number};{parameter}~"
    return ("\x1b" if modifiers & ALT else "") + _character(key, modifiers)


def _character(key: str, modifiers: int) -> str:
    if special := _WITH_MODIFIER.get((key, modifiers & (SHIFT | CTRL))):
        return special
    plain = _PLAIN.get(key, key if len(key) == 1 else "")
    if plain and modifiers & CTRL and "@" <= plain.upper() <= "_":
        return chr(ord(plain.upper()) & 0x1F)
    return plain.upper() if modifiers & SHIFT else plain


def _unstyled(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;:]*m", "", text)

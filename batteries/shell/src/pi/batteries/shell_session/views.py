"""Runs a command in a terminal on an overlay of the screen, where the user can type into it.

Runs the program, draws its terminal, and encodes keys for it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pi.extension import (
    Child,
    ChildTerminal,
    ExtensionAPI,
    OutputSink,
    PiError,
    Record,
    SpawnRequest,
    Theme,
    ToolContext,
    ToolFailed,
    install_hint,
    one_line,
    sanitise_keeping_style,
)
from pi.tui.component import CURSOR_MARKER
from pi.tui.input.key_codes import ALT, BY_LETTER, BY_NUMBER, CTRL, SHIFT
from pi.tui.input.keys import is_key_release, matches_key, parse, printable_text
from pi.tui.text.width import truncate_to_width, visible_width

READ_SIZE = 65536
GRACE_SECONDS = 1.0
MISSING = "Nothing was run: pty needs pyghostty, which draws terminals and is not installed."
PASTE_START, PASTE_END = "\x1b[200~", "\x1b[201~"
STOP_KEY = "ctrl+]"
"""Key that ends the program, also one that uses Escape itself."""

_PALETTE = re.compile(r"(?:\x1b\]4;[^\x1b]*\x1b\\)+")
"""The palette, with which the emulator's formatter begins every text."""
_LETTERS = {name: letter for letter, name in BY_LETTER.items() if name not in ("clear",)}
_NUMBERS = {name: number for number, name in reversed(BY_NUMBER.items())}
_PLAIN = {"enter": "\r", "tab": "\t", "escape": "\x1b", "backspace": "\x7f", "space": " "}
_WITH_MODIFIER = {("tab", SHIFT): "\x1b[Z", ("backspace", CTRL): "\x08", ("space", CTRL): "\0"}
_FUNCTION_KEYS = ("f1", "f2", "f3", "f4")


class TerminalEnd(Record):
    """The end of a program in a terminal."""

    exit_code: int
    timed_out: bool = False
    stopped: bool = False
    """Whether the user ended it."""
    screen: str | None = None
    """The text of the terminal, if the program used the alternate screen."""


class TerminalRun:
    """One program in a terminal."""

    def __init__(self, pi: ExtensionAPI, request: SpawnRequest, sink: OutputSink) -> None:
        self._pi = pi
        self._request = request
        self._sink = sink
        self._terminal = ChildTerminal()
        self._keys: asyncio.Queue[Callable[[], Any]] = asyncio.Queue()
        self._emulator: Any = None
        self._was_full_screen = False
        self._stopping = asyncio.Event()
        self._paint: Callable[[], None] | None = None
        """Draws the overlay again, once there is one."""

    async def run(self, title: str, ctx: ToolContext, timeout: float | None) -> TerminalEnd:
        """Run the program to its end, in an overlay if there is a screen; can be refused."""
        self._emulator = await self._load_emulator()
        scope = self._pi.scope.inner("terminal")
        overlay: asyncio.Task[Any] | None = None
        try:
            child = await self._pi.spawn(
                self._request, terminal=self._terminal, call_id=ctx.call_id, scope=scope
            )
            if self._emulator is not None:
                overlay = asyncio.create_task(self._show(title))
            scope.spawn(self._send_keys(), name="keys of a terminal")
            scope.spawn(self._stop_on_request(child), name="end of a terminal")
            return await self._follow(child, timeout)
        finally:
            if overlay is not None:
                overlay.cancel()
                with suppress(asyncio.CancelledError):
                    await overlay
            await scope.close()

    async def _follow(self, child: Child, timeout: float | None) -> TerminalEnd:
        timed_out = False
        try:
            async with asyncio.timeout(timeout):
                await self._listen(child)
        except TimeoutError:
            timed_out = True
            await child.terminate(grace=GRACE_SECONDS)
            await self._listen(child)
        except asyncio.CancelledError:
            await child.terminate(grace=GRACE_SECONDS)
            await self._listen(child)
            raise
        end = await child.wait()
        code = 128 + (end.signal or 0) if end.exit_code is None else end.exit_code
        screen = self._emulator.contents() if self._was_full_screen else None
        return TerminalEnd(
            exit_code=code, timed_out=timed_out, stopped=self._stopping.is_set(), screen=screen
        )

    async def _listen(self, child: Child) -> None:
        while data := await child.output.read(READ_SIZE):
            self._terminal.received(data)
            self._sink.write(data)
            if self._emulator is not None:
                self._emulator.feed(data)
                self._was_full_screen |= self._emulator.is_full_screen
                if self._paint is not None:
                    self._paint()

    # Overlay --------------------------------------------------------------------------------------

    async def _load_emulator(self) -> Any:
        if not self._pi.context.has_ui:
            return None
        # In a thread: it imports pyghostty, which takes 0.3 s.
        try:
            emulator = await asyncio.to_thread(Emulator)
        except ImportError as error:
            # Refused, because a program that asks its user something would wait for ever unseen.
            raise ToolFailed(f"{MISSING} {install_hint('pty')}") from error
        emulator.on_reply(lambda data: self._type(data))
        return emulator

    async def _show(self, title: str) -> None:
        def make(tui: Any, theme: Any, keys: Any, done: Any) -> TerminalOverlay:
            self._paint = tui.request_render
            return TerminalOverlay(
                self._emulator,
                tui,
                theme,
                title=title,
                type_keys=self._type,
                resize=self._resize,
                stop=self._stopping.set,
            )

        options = {"width": "100%", "max_height": "100%", "anchor": "top-left"}
        try:
            await self._pi.context.ui.custom(make, overlay=True, overlay_options=options)
        except PiError as error:
            self._pi.context.ui.notify(f"Cannot show the terminal: {error.message}", "warning")

    def _type(self, data: bytes) -> None:
        self._keys.put_nowait(lambda: self._terminal.send(data))

    def _resize(self, columns: int, rows: int) -> None:
        self._keys.put_nowait(lambda: self._terminal.resize(columns, rows))

    async def _send_keys(self) -> None:
        """Send keys and sizes in order."""
        while True:
            send = await self._keys.get()
            await send()

    async def _stop_on_request(self, child: Child) -> None:
        await self._stopping.wait()
        await child.terminate(grace=GRACE_SECONDS)


class Emulator:
    """A terminal in memory. Constructing it imports pyghostty, which takes 0.3 s."""

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        import pyghostty  # deferred: an extra
        from pyghostty import core

        self._lib, self._core = pyghostty.lib, core
        self._terminal = pyghostty.Terminal(columns, rows)
        self.on_reply: Callable[[Callable[[bytes], None]], None] = self._terminal.on_reply
        """Subscribes to replies of the terminal, such as reports of the cursor's position."""
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
            lines[y] = f"{before}{CURSOR_MARKER}\x1b[7m{_strip_styles(cell)}\x1b[0m{after}"
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
    """Overlay with the terminal of a program, a title, and a hint with the key that ends it."""

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
        """Send a key or a paste to the program; Escape ends one that is not full-screen."""
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
    """The bytes of a classic terminal for a key in any encoding of the user's terminal."""
    if data.startswith(PASTE_START):
        text = data if bracketed_paste else data[len(PASTE_START) :].removesuffix(PASTE_END)
        return text.encode("utf-8", "replace")
    if text := printable_text(data):
        return text.encode("utf-8", "replace")
    stroke = parse(data)
    if stroke is None:
        return data.encode("utf-8", "replace")
    return _encode_key(stroke.key, stroke.modifiers, application_cursor=application_cursor).encode(
        "utf-8", "replace"
    )


def _encode_key(key: str, modifiers: int, *, application_cursor: bool) -> str:
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


def _strip_styles(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;:]*m", "", text)

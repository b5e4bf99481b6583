"""A terminal in memory for tests.

A real emulator (Ghostty's) processes the bytes, so scrollback, wide characters, styles and replies
to queries are those of a real terminal. Needs the package ``pyghostty``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyghostty import Terminal as Emulator
from pyghostty import ffi, lib
from pyghostty.core import init_sized

from pi.tui.terminal import Listener, Size

_SCROLL_STRUCT = "typedef struct { int tag; int pad; intptr_t delta; uint64_t more; } PiScroll;"
"""The argument of ``ghostty_terminal_scroll_viewport``; cffi cannot pass its union by value."""

ffi.cdef(_SCROLL_STRUCT)


_GRAPHEMES = "\x1b[?2027h"
"""Enables width by grapheme cluster, as Ghostty itself does."""


class VirtualTerminal:
    """Implements ``pi.tui.terminal.Terminal``.

    With ``replies`` it answers queries as a real terminal does; a test that writes its own replies
    turns it off.
    """

    def __init__(
        self, columns: int = 80, rows: int = 24, *, scrollback: int = 100_000, replies: bool = True
    ) -> None:
        self.output: list[str] = []
        """Everything that was written, in order."""
        self.backlog = 0
        """Set by tests to simulate a slow terminal."""
        self.suspended = 0
        """How often the program suspended itself."""
        self._emulator = Emulator(columns, rows, scrollback=scrollback)
        self._listener: Listener | None = None
        self._restore: Callable[[], str] | None = None
        # The emulator also limits bytes, to far less than that many rows take.
        option, limit = lib.GHOSTTY_TERMINAL_OPT_SCROLLBACK_MAX_BYTES, ffi.new("size_t*", 1 << 30)
        lib.ghostty_terminal_set(self._emulator._t[0], option, limit)
        self._emulator.feed(_GRAPHEMES)
        if replies:
            self._emulator.on_reply(self._reply)

    @property
    def size(self) -> Size:
        """The size now."""
        columns, rows = self._emulator.size
        return Size(columns=columns, rows=rows)

    def start(self, listener: Listener, *, restore: Callable[[], str]) -> None:
        """Start to deliver input."""
        self._listener, self._restore = listener, restore

    def write(self, data: str) -> None:
        """Process output of the program."""
        self.output.append(data)
        self._emulator.feed(data)

    def stop(self) -> None:
        """End the terminal session of the program."""
        if self._restore is not None:
            self.write(self._restore())
        self._listener = self._restore = None

    def suspend(self) -> None:
        """Simulate a process that is suspended and resumed at once."""
        listener, restore = self._listener, self._restore
        assert listener is not None
        assert restore is not None
        self.suspended += 1
        self.write(restore())
        listener.on_resume()

    def type(self, data: str) -> None:
        """Deliver input: typed keys, a paste, or a reply of the terminal."""
        if self._listener is not None:
            self._listener.on_input(data.encode())

    def resize(self, columns: int, rows: int) -> None:
        """Change the size; the content is rewrapped as in a terminal."""
        self._emulator.resize(columns, rows)
        if self._listener is not None:
            self._listener.on_resize()

    def vanish(self) -> None:
        """Close the window."""
        if self._listener is not None:
            self._listener.on_disconnect()

    @property
    def screen(self) -> list[str]:
        """The rows on the screen, without trailing spaces."""
        return self._rows("active", 0, self.size.rows)

    @property
    def history(self) -> list[str]:
        """The rows in the scrollback."""
        return self._rows("screen", 0, self._read_size("scrollback_rows"))

    @property
    def tape(self) -> list[str]:
        """Scrollback and screen."""
        return self._rows("screen", 0, self._read_size("total_rows"))

    @property
    def view(self) -> list[str]:
        """The visible rows, which differ from the screen while scrolled up."""
        return self._rows("viewport", 0, self.size.rows)

    def scroll_up(self, rows: int) -> None:
        """Scroll up by ``rows``."""
        scroll: Any = ffi.cast(
            "void(*)(GhosttyTerminal, PiScroll)",
            ffi.addressof(lib, "ghostty_terminal_scroll_viewport"),
        )
        scroll(self._emulator._t[0], {"tag": lib.GHOSTTY_SCROLL_VIEWPORT_DELTA, "delta": -rows})

    @property
    def cursor(self) -> tuple[int, int]:
        """Column and row of the cursor, from zero."""
        column, row = self._emulator.cursor
        return column, row

    @property
    def cursor_is_visible(self) -> bool:
        """Whether the cursor is shown."""
        return bool(self._emulator.get("cursor_visible", "bool"))

    @property
    def title(self) -> str:
        """The title of the window."""
        text = self._emulator.get("title", "GhosttyString")
        return bytes(ffi.buffer(text.ptr, text.len)).decode() if text.len else ""

    @property
    def is_alternate(self) -> bool:
        """Whether the alternate screen is shown."""
        return bool(self._emulator.get("active_screen", "GhosttyTerminalScreen"))

    def mode(self, number: int) -> bool:
        """Whether a DEC private mode is on."""
        return bool(self._emulator.mode(number))

    def style(self, column: int, row: int) -> dict[str, Any]:
        """The style of a cell on the screen: ``bold``, ``fg``, ``bg`` and so on."""
        style: dict[str, Any] = self._emulator.style(column, row)
        return style

    def _read_size(self, what: str) -> int:
        return int(self._emulator.get(what, "size_t"))

    def _rows(self, area: str, first: int, count: int) -> list[str]:
        if not count:
            return []
        selection = init_sized("GhosttySelection")
        selection.start = self._emulator.ref(0, first, area)[0]
        selection.end = self._emulator.ref(self.size.columns - 1, first + count - 1, area)[0]
        text: str = self._emulator._format_sel(selection)
        rows = [row.rstrip() for row in text.split("\n")]
        return rows + [""] * (count - len(rows))

    def _reply(self, data: bytes) -> None:
        if self._listener is not None:
            self._listener.on_input(data)

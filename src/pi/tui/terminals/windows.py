"""The console that the process was started in. Windows.

System calls are behind ``Console``, implemented by ``pi.tui.terminals.windows_console``.
"""

from __future__ import annotations

import asyncio
import atexit
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Protocol, TypeVarTuple

from pi.base.records import Record
from pi.tui.negotiation import ASK_DA1
from pi.tui.terminal import Listener, Size
from pi.tui.terminals.tty_output import OutputCapture

Ts = TypeVarTuple("Ts")

UTF_8 = 65001
MAX_WRITE = 8192
"""Bytes that a console takes at once; of more it may lose some."""
WAIT_SECONDS = 0.1
"""How long to wait for input before looking whether it is still wanted."""
FLUSH_SECONDS = 1.0
DRAIN_SECONDS = 0.3

_RAW_INPUT = 0x0200 | 0x0008
"""Keys as sequences, and word of another size; neither lines nor echo, and Ctrl+C is a key."""
_SEQUENCES_IN_OUTPUT = 0x0001 | 0x0004 | 0x0008


class ConsoleState(Record):
    """What a console is set to, and what programs find there."""

    input_mode: int
    output_mode: int
    input_page: int
    output_page: int
    """The code pages, by number."""


class ConsoleInput(Record):
    """What happened at a console."""

    text: str = ""
    is_resized: bool = False


class Console(Protocol):
    """What Windows has for a console. Raises ``OSError`` once it is gone."""

    state: ConsoleState
    """Setting it changes what is different."""

    @property
    def size(self) -> Size:
        """The size of the window."""
        ...

    def write(self, data: bytes) -> None:
        """Show bytes in the code page for output; waits until it is done."""
        ...

    def read(self, seconds: float) -> ConsoleInput:
        """What happened; waits for it, at most so long."""
        ...


class WindowsTerminal:
    """Implements ``pi.tui.terminal.Terminal`` on a console.

    Children that run meanwhile may change its code pages. They are set again before every write,
    and in the end they are what they were. ``keep_output`` keeps what others print off the screen.
    """

    def __init__(self, console: Console, *, keep_output: bool = True) -> None:
        self._console = console
        self._keep_output = keep_output
        self._held: _Held | None = None

    @property
    def size(self) -> Size:
        """The size of the window."""
        return self._console.size

    @property
    def backlog(self) -> int:
        """Bytes that were written but not taken yet."""
        return self._held.output.backlog if self._held else 0

    def start(self, listener: Listener, *, restore: Callable[[], str]) -> None:
        """Take the console: keys as sequences, output in UTF-8, each in its own thread."""
        before = self._console.state
        ours = ConsoleState(
            input_mode=_RAW_INPUT,
            output_mode=before.output_mode | _SEQUENCES_IN_OUTPUT,
            input_page=UTF_8,
            output_page=UTF_8,
        )
        self._console.state = ours
        held = _Held(
            listener=listener,
            restore=restore,
            before=before,
            stray=OutputCapture() if self._keep_output else None,
            output=ConsoleOutput(
                self._console, ours, on_disconnect=lambda: held.call(self._lost, held)
            ),
            loop=asyncio.get_running_loop(),
        )
        self._held = held
        held.reader = threading.Thread(target=self._read, args=(held,), daemon=True)
        held.reader.start()
        atexit.register(self._give_back)

    def write(self, data: str) -> None:
        """Send characters; nothing happens if the console is not ours."""
        if self._held is not None and data:
            self._held.output.write(data)

    def stop(self) -> None:
        """Write what is left, wait for what the terminal still says, and give it back."""
        self._give_back()

    def suspend(self) -> None:
        """Nothing: Windows does not stop programs."""

    def _give_back(self) -> None:
        held, self._held = self._held, None
        if held is None:
            return
        atexit.unregister(self._give_back)
        if not held.is_gone:
            held.output.write(held.restore() + ASK_DA1)
        held.output.close(FLUSH_SECONDS)
        if not held.is_gone:
            held.answered.wait(DRAIN_SECONDS)
        held.is_over.set()
        if held.reader is not None:
            held.reader.join(FLUSH_SECONDS)
        with suppress(OSError):
            self._console.state = held.before
        if held.stray is not None and (text := held.stray.release()):
            with suppress(OSError):
                sys.stderr.write(text)

    def _read(self, held: _Held) -> None:
        """Hand on what happens, in its own thread, until the console is given back."""
        while not held.is_over.is_set():
            try:
                happened = self._console.read(WAIT_SECONDS)
            except OSError:
                held.call(self._lost, held)
                return
            if self._held is not held:  # nobody wants it but those who wait for the last answer
                if happened.text.endswith("c"):
                    held.answered.set()
                continue
            if happened.text:
                held.call(held.listener.on_input, happened.text.encode())
            if happened.is_resized:
                held.call(held.listener.on_resize)

    def _lost(self, held: _Held) -> None:
        """The console is gone: write nothing more, and say so once."""
        if self._held is held:
            held.is_gone = True
            self._give_back()
            held.listener.on_disconnect()


class _Held:
    """Everything that exists while the console is ours."""

    def __init__(
        self,
        *,
        listener: Listener,
        restore: Callable[[], str],
        before: ConsoleState,
        stray: OutputCapture | None,
        output: ConsoleOutput,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.listener = listener
        self.restore = restore
        self.before = before
        self.stray = stray
        self.output = output
        self.reader: threading.Thread | None = None
        self.answered = threading.Event()
        self.is_over = threading.Event()
        self.is_gone = False
        self._loop = loop

    def call(self, act: Callable[[*Ts], object], *arguments: *Ts) -> None:
        """Act in the event loop, if there still is one."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(act, *arguments)


class ConsoleOutput:
    """A queue in front of a console, emptied by a thread of its own since writing to it waits."""

    def __init__(
        self, console: Console, ours: ConsoleState, *, on_disconnect: Callable[[], None]
    ) -> None:
        self._console = console
        self._ours = ours
        self._on_disconnect = on_disconnect
        self._waiting: deque[bytes] = deque()
        self._changed = threading.Condition()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def backlog(self) -> int:
        """Bytes that the console has not taken yet."""
        with self._changed:
            return sum(map(len, self._waiting))

    def write(self, data: str) -> None:
        """Have characters written, in pieces that the console takes."""
        with self._changed:
            self._waiting += pieces(data.encode("utf-8", "replace"), MAX_WRITE)
            self._changed.notify()

    def close(self, seconds: float) -> None:
        """Have the rest written, waiting at most so long."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join(seconds)

    def _run(self) -> None:
        while (data := self._next()) is not None:
            try:
                if self._console.state != self._ours:
                    self._console.state = self._ours
                self._console.write(data)
            except OSError:
                self._on_disconnect()
                return
            with self._changed:
                self._waiting.popleft()

    def _next(self) -> bytes | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_closed)
            return self._waiting[0] if self._waiting else None


def pieces(data: bytes, largest: int) -> Iterator[bytes]:
    """Bytes of UTF-8 in pieces of at most ``largest``, none of which ends within a character."""
    while len(data) > largest:
        end = largest
        while end > 1 and data[end] & 0xC0 == 0x80:
            end -= 1
        yield data[:end]
        data = data[end:]
    if data:
        yield data

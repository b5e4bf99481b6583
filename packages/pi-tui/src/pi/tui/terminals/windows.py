"""``WindowsTerminal``: the console of the process on Windows.

System calls are behind ``Console``. ``KernelConsole`` implements it with ctypes and ``kernel32``.
"""

from __future__ import annotations

import asyncio
import atexit
import codecs
import ctypes
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeVarTuple

from pi.base.records import Record
from pi.tui.negotiation import ASK_DA1
from pi.tui.terminal import Listener, Size
from pi.tui.terminals.tty_output import OutputCapture

Ts = TypeVarTuple("Ts")

UTF_8 = 65001
MAX_WRITE = 8192
"""Bytes that a console takes at once. It may lose some of a larger write."""
WAIT_SECONDS = 0.1
"""Seconds to wait for input before checking whether reading should end."""
FLUSH_SECONDS = 1.0
DRAIN_SECONDS = 0.3

_RAW_INPUT = 0x0200 | 0x0008
"""Keys as sequences, and size events; no line input, no echo, and Ctrl+C is a key."""
_SEQUENCES_IN_OUTPUT = 0x0001 | 0x0004 | 0x0008

_READ_WRITE, _SHARED, _OPEN = 0xC0000000, 3, 3
_KEY, _RESIZED = 0x0001, 0x0004
_MAX_RECORDS = 512


class ConsoleState(Record):
    """The modes and code pages of a console."""

    input_mode: int
    output_mode: int
    input_page: int
    output_page: int
    """Code page number."""


class ConsoleInput(Record):
    """Input events of a console."""

    text: str = ""
    is_resized: bool = False


class Console(Protocol):
    """The Windows console. Raises ``OSError`` once it is gone."""

    state: ConsoleState
    """Assignment applies the differences."""

    @property
    def size(self) -> Size:
        """Return the size of the window."""
        ...

    def write(self, data: bytes) -> None:
        """Write bytes in the output code page. Blocks until done."""
        ...

    def read(self, seconds: float) -> ConsoleInput:
        """Return input events; waits at most ``seconds`` for them."""
        ...


class WindowsTerminal:
    """Implements ``pi.tui.terminal.Terminal`` on a console.

    Child processes may change the code pages. They are set again before every write, and restored
    at the end. ``keep_output`` captures what libraries and children print.
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
        """Take over the console: keys as sequences, UTF-8 output, a thread for each."""
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
        atexit.register(self._release)

    def write(self, data: str) -> None:
        """Send characters; does nothing if the console is not started."""
        if self._held is not None and data:
            self._held.output.write(data)

    def stop(self) -> None:
        """Flush the output, wait for pending replies, and restore the console."""
        self._release()

    def suspend(self) -> None:
        """Do nothing: Windows cannot stop processes."""

    def _release(self) -> None:
        held, self._held = self._held, None
        if held is None:
            return
        atexit.unregister(self._release)
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
        """Deliver input in a thread until the console is released."""
        while not held.is_over.is_set():
            try:
                happened = self._console.read(WAIT_SECONDS)
            except OSError:
                held.call(self._lost, held)
                return
            if self._held is not held:  # only the wait for the last reply still reads
                if happened.text.endswith("c"):
                    held.answered.set()
                continue
            if happened.text:
                held.call(held.listener.on_input, happened.text.encode())
            if happened.is_resized:
                held.call(held.listener.on_resize)

    def _lost(self, held: _Held) -> None:
        """Handle the loss of the console: write nothing more and report it once."""
        if self._held is held:
            held.is_gone = True
            self._release()
            held.listener.on_disconnect()


class _Held:
    """The state while the console is in use."""

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
        """Call a function in the event loop, if it is still running."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(act, *arguments)


class ConsoleOutput:
    """Queues output for a console. A thread writes it, because writes block."""

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
        """Queue characters, in chunks that the console accepts."""
        with self._changed:
            self._waiting += pieces(data.encode("utf-8", "replace"), MAX_WRITE)
            self._changed.notify()

    def close(self, seconds: float) -> None:
        """Write the rest, for at most ``seconds``."""
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
    """Split UTF-8 into chunks of at most ``largest`` bytes, never within a character."""
    while len(data) > largest:
        end = largest
        while end > 1 and data[end] & 0xC0 == 0x80:
            end -= 1
        yield data[:end]
        data = data[end:]
    if data:
        yield data


class _Key(ctypes.Structure):
    """``INPUT_RECORD`` with the fields of a key event; other events are not larger."""

    _fields_ = (
        ("kind", ctypes.c_uint16),
        ("is_down", ctypes.c_int32),
        ("repeat", ctypes.c_uint16),
        ("key", ctypes.c_uint16),
        ("scan", ctypes.c_uint16),
        ("unit", ctypes.c_uint16),
        ("state", ctypes.c_uint32),
    )


class _Screen(ctypes.Structure):
    """``CONSOLE_SCREEN_BUFFER_INFO``."""

    _fields_ = tuple(
        (name, ctypes.c_int16)
        for name in (
            *("columns", "rows", "cursor_x", "cursor_y", "attributes"),
            *("left", "top", "right", "bottom", "most_columns", "most_rows"),
        )
    )


class KernelConsole:
    """Implements ``Console``. ``kernel`` is ``ctypes.windll.kernel32``.

    It opens the console itself, independent of the standard handles.
    """

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._input = self._open("CONIN$")
        self._output = self._open("CONOUT$")
        self._decoder = codecs.getincrementaldecoder("utf-16-le")("replace")

    @property
    def state(self) -> ConsoleState:
        """Modes and code pages."""
        kernel = self._kernel
        return ConsoleState(
            input_mode=self._mode(self._input),
            output_mode=self._mode(self._output),
            input_page=kernel.GetConsoleCP(),
            output_page=kernel.GetConsoleOutputCP(),
        )

    @state.setter
    def state(self, state: ConsoleState) -> None:
        kernel = self._kernel
        _check(kernel.SetConsoleMode(self._input, state.input_mode))
        _check(kernel.SetConsoleMode(self._output, state.output_mode))
        _check(kernel.SetConsoleCP(state.input_page))
        _check(kernel.SetConsoleOutputCP(state.output_page))

    @property
    def size(self) -> Size:
        """Return the size of the window, which shows a part of a larger buffer."""
        buffer_info = _Screen()
        _check(self._kernel.GetConsoleScreenBufferInfo(self._output, ctypes.byref(buffer_info)))
        return Size(
            columns=buffer_info.right - buffer_info.left + 1,
            rows=buffer_info.bottom - buffer_info.top + 1,
        )

    def write(self, data: bytes) -> None:
        """Write bytes in the output code page."""
        written = ctypes.c_uint32()
        while data:
            _check(
                self._kernel.WriteFile(self._output, data, len(data), ctypes.byref(written), None)
            )
            data = data[written.value :]

    def read(self, seconds: float) -> ConsoleInput:
        """Return input events; waits at most ``seconds`` for them."""
        if self._kernel.WaitForSingleObject(self._input, int(seconds * 1000)):
            return ConsoleInput()
        records = (_Key * _MAX_RECORDS)()
        count = ctypes.c_uint32()
        _check(
            self._kernel.ReadConsoleInputW(self._input, records, _MAX_RECORDS, ctypes.byref(count))
        )
        return _meaning(records[: count.value], self._decoder)

    def _open(self, name: str) -> ctypes.c_void_p:
        handle = self._kernel.CreateFileW(name, _READ_WRITE, _SHARED, None, _OPEN, 0, None)
        _check(handle not in (0, -1))
        return ctypes.c_void_p(handle)

    def _mode(self, handle: ctypes.c_void_p) -> int:
        mode = ctypes.c_uint32()
        _check(self._kernel.GetConsoleMode(handle, ctypes.byref(mode)))
        return mode.value


def _meaning(records: Sequence[Any], decoder: codecs.IncrementalDecoder) -> ConsoleInput:
    """Convert input records: the characters of keys, and whether the size has changed."""
    units = [
        record.unit
        for record in records
        if record.kind == _KEY and record.is_down and record.unit
        for _ in range(record.repeat or 1)
    ]
    text = decoder.decode(b"".join(unit.to_bytes(2, "little") for unit in units))
    return ConsoleInput(text=text, is_resized=any(record.kind == _RESIZED for record in records))


def _check(worked: object) -> None:
    if not worked:
        raise OSError("The console is gone.")

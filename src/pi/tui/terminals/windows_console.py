"""The Windows console API: calls to ``kernel32`` with ctypes."""

from __future__ import annotations

import codecs
import ctypes
from collections.abc import Sequence
from typing import Any

from pi.tui.terminal import Size
from pi.tui.terminals.windows import ConsoleInput, ConsoleState

_READ_WRITE, _SHARED, _OPEN = 0xC0000000, 3, 3
_KEY, _RESIZED = 0x0001, 0x0004
_MAX_RECORDS = 512


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
    """Implements ``pi.tui.terminals.windows.Console``. ``kernel`` is ``ctypes.windll.kernel32``.

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
        """Returns the size of the window, which shows a part of a larger buffer."""
        found = _Screen()
        _check(self._kernel.GetConsoleScreenBufferInfo(self._output, ctypes.byref(found)))
        return Size(columns=found.right - found.left + 1, rows=found.bottom - found.top + 1)

    def write(self, data: bytes) -> None:
        """Writes bytes in the output code page."""
        written = ctypes.c_uint32()
        while data:
            _check(
                self._kernel.WriteFile(self._output, data, len(data), ctypes.byref(written), None)
            )
            data = data[written.value :]

    def read(self, seconds: float) -> ConsoleInput:
        """Returns input events; waits at most ``seconds`` for them."""
        if self._kernel.WaitForSingleObject(self._input, int(seconds * 1000)):
            return ConsoleInput()
        records = (_Key * _MAX_RECORDS)()
        count = ctypes.c_uint32()
        _check(
            self._kernel.ReadConsoleInputW(self._input, records, _MAX_RECORDS, ctypes.byref(count))
        )
        return meaning(records[: count.value], self._decoder)

    def _open(self, name: str) -> ctypes.c_void_p:
        handle = self._kernel.CreateFileW(name, _READ_WRITE, _SHARED, None, _OPEN, 0, None)
        _check(handle not in (0, -1))
        return ctypes.c_void_p(handle)

    def _mode(self, handle: ctypes.c_void_p) -> int:
        mode = ctypes.c_uint32()
        _check(self._kernel.GetConsoleMode(handle, ctypes.byref(mode)))
        return mode.value


def meaning(records: Sequence[Any], decoder: codecs.IncrementalDecoder) -> ConsoleInput:
    """Converts input records: the characters of keys, and whether the size has changed."""
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

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from pi.base.records import replace
from pi.tui.terminal import Size
from pi.tui.terminals.windows import ConsoleInput, ConsoleState, KernelConsole

KEY, RESIZED = 1, 4
WAIT_TIMEOUT = 0x102


class FakeKernel:
    """The console functions of ``kernel32``, by their Windows names."""

    def __init__(self) -> None:
        self.modes = {1: 0x1F7, 2: 0x3}
        self.pages = [437, 850]
        self.written = b""
        self.records: list[tuple[int, bool, int]] = []
        self.works = True

    def CreateFileW(self, name: str, *rest: object) -> int:
        return {"CONIN$": 1, "CONOUT$": 2}[name] if self.works else -1

    def GetConsoleMode(self, handle: ctypes.c_void_p, mode: Any) -> bool:
        mode._obj.value = self.modes[handle.value or 0]
        return self.works

    def SetConsoleMode(self, handle: ctypes.c_void_p, mode: int) -> bool:
        self.modes[handle.value or 0] = mode
        return self.works

    def GetConsoleCP(self) -> int:
        return self.pages[0]

    def GetConsoleOutputCP(self) -> int:
        return self.pages[1]

    def SetConsoleCP(self, page: int) -> bool:
        self.pages[0] = page
        return self.works

    def SetConsoleOutputCP(self, page: int) -> bool:
        self.pages[1] = page
        return self.works

    def GetConsoleScreenBufferInfo(self, handle: ctypes.c_void_p, found: Any) -> bool:
        info = found._obj
        info.columns, info.rows = 120, 9001
        info.left, info.top, info.right, info.bottom = 0, 100, 99, 129
        return self.works

    def WriteFile(
        self, handle: ctypes.c_void_p, data: bytes, size: int, written: Any, _: None
    ) -> bool:
        part = data[: min(size, 4)]
        self.written += part
        written._obj.value = len(part)
        return self.works

    def WaitForSingleObject(self, handle: ctypes.c_void_p, milliseconds: int) -> int:
        return 0 if self.records else WAIT_TIMEOUT

    def ReadConsoleInputW(
        self, handle: ctypes.c_void_p, records: Any, most: int, count: Any
    ) -> bool:
        for number, (kind, is_down, unit) in enumerate(self.records):
            records[number].kind, records[number].is_down = kind, is_down
            records[number].unit, records[number].repeat = unit, 1
        count._obj.value = len(self.records)
        self.records = []
        return self.works


def test_the_state_is_modes_and_code_pages() -> None:
    kernel = FakeKernel()
    console = KernelConsole(kernel)
    before = ConsoleState(input_mode=0x1F7, output_mode=0x3, input_page=437, output_page=850)
    assert console.state == before

    console.state = replace(before, output_mode=0xF, output_page=65001)

    assert (kernel.modes, kernel.pages) == ({1: 0x1F7, 2: 0xF}, [437, 65001])


def test_the_size_is_that_of_the_window_and_not_of_the_buffer() -> None:
    assert KernelConsole(FakeKernel()).size == Size(columns=100, rows=30)


def test_all_bytes_are_written_despite_partial_writes() -> None:
    kernel = FakeKernel()

    KernelConsole(kernel).write(b"0123456789")

    assert kernel.written == b"0123456789"


def test_key_down_events_are_returned_as_text() -> None:
    kernel = FakeKernel()
    console = KernelConsole(kernel)
    high, low = 0xD83D, 0xDE42
    kernel.records = [(KEY, True, ord("a")), (KEY, False, ord("a")), (KEY, True, 0)]
    kernel.records += [(RESIZED, False, 0), (KEY, True, high)]
    assert console.read(1) == ConsoleInput(text="a", is_resized=True)

    kernel.records = [(KEY, True, low)]
    assert console.read(1) == ConsoleInput(text="🙂")
    assert console.read(1) == ConsoleInput()


def test_a_closed_console_raises() -> None:
    kernel = FakeKernel()
    console = KernelConsole(kernel)
    kernel.works = False

    with pytest.raises(OSError, match="console is gone"):
        console.write(b"x")
    with pytest.raises(OSError, match="console is gone"):
        KernelConsole(kernel)

from __future__ import annotations

import asyncio
import queue
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.base.records import replace
from pi.tui.terminal import Listener, Size
from pi.tui.terminals.windows import (
    MAX_WRITE,
    UTF_8,
    ConsoleInput,
    ConsoleState,
    WindowsTerminal,
    pieces,
)

SECONDS = 60.0
BEFORE = ConsoleState(input_mode=0x1F7, output_mode=0x3, input_page=437, output_page=850)


class FakeConsole:
    """A console whose events the test supplies."""

    def __init__(self) -> None:
        self.state = BEFORE
        self.size = Size(columns=80, rows=24)
        self.input: queue.Queue[ConsoleInput | None] = queue.Queue()
        self.written: list[tuple[int, bytes]] = []
        """What was written, and in which code page."""
        self.writes = threading.Semaphore(0)
        self.is_gone = False

    def write(self, data: bytes) -> None:
        if self.is_gone:
            raise OSError("gone")
        self.written.append((self.state.output_page, data))
        self.writes.release()
        if data.endswith(b"\x1b[c"):
            self.input.put(ConsoleInput(text="\x1b[?62c"))

    def read(self, seconds: float) -> ConsoleInput:
        try:
            happened = self.input.get(timeout=seconds)
        except queue.Empty:
            return ConsoleInput()
        if happened is None:
            raise OSError("gone")
        return happened


class Shown:
    """A terminal on a console, and the events it reported."""

    def __init__(self) -> None:
        self.console = FakeConsole()
        self.terminal = WindowsTerminal(self.console, keep_output=False)
        self.events: asyncio.Queue[bytes | str] = asyncio.Queue()

    def start(self) -> None:
        listener = Listener(
            on_input=self.events.put_nowait,
            on_resize=lambda: self.events.put_nowait("resized"),
            on_resume=_nothing,
            on_disconnect=lambda: self.events.put_nowait("gone"),
        )
        self.terminal.start(listener, restore=lambda: "restored")

    async def next(self) -> bytes | str:
        async with asyncio.timeout(SECONDS):
            return await self.events.get()


def _nothing() -> None:
    pass


@pytest.mark.behaviour("windows-console")
async def test_the_code_page_is_utf_8_again_after_a_child_changed_it() -> None:
    shown = Shown()
    shown.start()
    shown.terminal.write("日本")
    assert shown.console.writes.acquire(timeout=SECONDS)
    shown.console.state = replace(shown.console.state, input_page=437, output_page=437)
    shown.terminal.write("語")
    shown.terminal.stop()

    assert shown.console.written == [
        (UTF_8, "日本".encode()),
        (UTF_8, "語".encode()),
        (UTF_8, b"restored\x1b[c"),
    ]
    assert shown.console.state == BEFORE


@pytest.mark.behaviour("windows-console")
async def test_a_big_write_is_split() -> None:
    shown = Shown()
    text = "日" * MAX_WRITE

    shown.start()
    shown.terminal.write(text)
    shown.terminal.stop()

    written = [data for _, data in shown.console.written]
    assert max(map(len, written)) <= MAX_WRITE
    assert b"".join(written) == f"{text}restored\x1b[c".encode()
    assert [data.decode() for data in written]  # none ends within a character


@pytest.mark.behaviour("windows-console")
@given(st.text(max_size=60), st.integers(4, 20))
def test_pieces_contain_only_whole_characters_and_lose_none(text: str, largest: int) -> None:
    data = text.encode("utf-8", "replace")
    found = list(pieces(data, largest))

    assert b"".join(found) == data
    assert all(0 < len(piece) <= largest for piece in found)
    assert "".join(piece.decode() for piece in found) == data.decode()


async def test_keys_and_resizes_are_reported() -> None:
    shown = Shown()
    shown.start()
    shown.console.input.put(ConsoleInput(text="a日"))
    assert await shown.next() == "a日".encode()

    shown.console.input.put(ConsoleInput(is_resized=True))
    assert await shown.next() == "resized"
    assert shown.terminal.size == Size(columns=80, rows=24)
    shown.terminal.stop()


async def test_replies_at_the_end_are_not_delivered_as_keys() -> None:
    shown = Shown()
    shown.start()
    shown.terminal.stop()

    assert (shown.events.empty(), shown.console.input.empty()) == (True, True)


@pytest.mark.parametrize("way", ["input", "output"])
async def test_a_lost_console_is_reported_once(way: str) -> None:
    shown = Shown()
    shown.start()
    if way == "input":
        shown.console.input.put(None)
    else:
        shown.console.is_gone = True
        shown.terminal.write("x")

    assert await shown.next() == "gone"
    shown.terminal.write("lost")
    shown.terminal.stop()
    assert (shown.events.empty(), shown.terminal.backlog) == (True, 0)


async def test_a_terminal_can_be_restarted_on_the_same_console() -> None:
    shown = Shown()
    for _ in range(2):
        shown.start()
        assert shown.console.state.input_page == UTF_8
        shown.terminal.suspend()
        shown.terminal.stop()
        assert shown.console.state == BEFORE

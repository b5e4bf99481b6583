"""A screen for dialogs and commands: components are drawn as text, keys go to the topmost one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

from pi.base.tasks import TaskScope
from pi.coding.port.session import SessionPort
from pi.coding.runtime.machine import Machine
from pi.coding.settings.settings import Settings
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_file import REQUIRED, Palette
from pi.modes.interactive.theme_selector import ThemeSelector, themes_in
from pi.modes.interactive.ui import Build, Level, OverlayShown
from pi.testing import FakeClock
from pi.tui.component import Component, Focusable, Interactive
from pi.tui.desktop import Clipboard
from pi.tui.input.keymap import Keymap
from pi.tui.overlays import OverlayOptions
from pi.tui.style import ColourDepth
from pi.tui.text.ansi import strip_sequences
from pi.tui.text.width import visible_width

T = TypeVar("T")

KEYS = {
    "enter": "\r",
    "escape": "\x1b",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "pageDown": "\x1b[6~",
    "tab": "\t",
    "shift+tab": "\x1b[Z",
    "backspace": "\x7f",
    "ctrl+left": "\x1b[1;5D",
    "ctrl+right": "\x1b[1;5C",
    "ctrl+backspace": "\x1b[127;5u",
    "ctrl+shift+o": "\x1b[111;6u",
    "alt+enter": "\x1b\r",
    "alt+up": "\x1b[1;3A",
    "alt+down": "\x1b[1;3B",
    "space": " ",
    "ctrl+-": "\x1f",
}


def sequence(key: str) -> str:
    """What a terminal sends for a key; text is sent as it is."""
    if key in KEYS:
        return KEYS[key]
    if key.startswith("ctrl+") and len(key) == 6:
        return chr(ord(key[-1]) & 31)
    if key.startswith("alt+") and len(key) == 5:
        return f"\x1b{key[-1]}"
    return key


def plain_theme() -> Theme:
    """A theme without colours, so that rows can be read in a test."""
    return Theme(Palette(name="plain", colours=dict.fromkeys(REQUIRED)), ColourDepth.NONE)


class FakeScreen:
    """Implements ``Ui``. ``press`` types; ``text`` is what is to be seen."""

    def __init__(
        self, tmp_path: Path, port: SessionPort | None = None, host: Machine | None = None
    ) -> None:
        self.theme = plain_theme()
        self.themes = ThemeSelector(
            self.theme,
            files=lambda: themes_in(tmp_path),
            scheme=lambda: "dark",
            redraw=self.refresh,
        )
        self.keymap = Keymap()
        self.is_still = False
        self.rows = 24
        self.tasks = TaskScope()
        self.host = host or Machine(
            environ={"HOME": str(tmp_path)},
            home=tmp_path,
            agent_dir=tmp_path / "agent",
            temp_dir=tmp_path,
            clock=FakeClock(),
        )
        self.clock = self.host.clock
        self.port = port or cast("SessionPort", FakePort())
        self.notices: list[tuple[str, str]] = []
        self.outputs: list[Component] = []
        self.copied: list[str] = []
        self.editor_text = ""
        self.reloads = 0
        self.refreshes = 0
        self.quits = 0
        self.edited: str | None = None
        """What the user's own editor makes of a text."""
        self.clipboard = Clipboard(
            system="linux",
            env={"DISPLAY": ":0"},
            find=lambda name: f"/bin/{name}" if name == "xclip" else None,
            run=self._copy,
            write=lambda data: None,
        )
        self._stack: list[Component] = []
        self._changed = asyncio.Event()

    # For tests ------------------------------------------------------------------------------------

    async def press(self, *keys: str) -> None:
        """Type keys, one after the other, and let everything settle."""
        for key in keys:
            await self.wait_until_shown()
            top = self._stack[-1]
            assert isinstance(top, Interactive)
            top.handle_input(sequence(key))
            await settle()

    async def type(self, text: str) -> None:
        """Type a text letter by letter."""
        await self.press(*text)

    async def wait_until_shown(self) -> None:
        """Until something is shown."""
        async with asyncio.timeout(30):
            while not self._stack:
                self._changed.clear()
                await self._changed.wait()

    async def wait_until_closed(self) -> None:
        """Until nothing is shown any more."""
        async with asyncio.timeout(30):
            while self._stack:
                self._changed.clear()
                await self._changed.wait()

    async def until(self, fits: Callable[[str], bool]) -> None:
        """Wait until the condition holds for the shown text."""
        async with asyncio.timeout(30):
            while not (self._stack and fits(self.text())):
                self._changed.clear()
                await self._changed.wait()

    @property
    def is_open(self) -> bool:
        """Whether a dialog is shown."""
        return bool(self._stack)

    def lines(self, width: int = 60) -> list[str]:
        """The topmost dialog without colours and without its border; every row fits."""
        rows = [strip_sequences(row).rstrip() for row in self._stack[-1].render(width)]
        assert all(visible_width(row) <= width for row in rows)
        return rows[1:-1]

    def text(self, width: int = 60) -> str:
        """The same as one text."""
        return "\n".join(self.lines(width))

    def printed(self, width: int = 60) -> str:
        """What was added to the transcript."""
        rows = [row for block in self.outputs for row in block.render(width)]
        return "\n".join(strip_sequences(row).rstrip() for row in rows)

    # Ui -------------------------------------------------------------------------------------------

    async def show(self, build: Build[T]) -> T:
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def done(value: T) -> None:
            if not answer.done():
                answer.set_result(value)

        component = build(done)
        if isinstance(component, Focusable):
            component.focused = True
        self._stack.append(component)
        self._changed.set()
        try:
            return await answer
        finally:
            self._stack.remove(component)
            self._changed.set()

    async def overlay(
        self,
        build: Build[T],
        options: OverlayOptions | None = None,
        *,
        on_shown: OverlayShown | None = None,
    ) -> T:
        return await self.show(build)

    def notify(self, text: str, level: Level = "info") -> None:
        self.notices.append((level, text))

    def add_output(self, block: Component) -> None:
        self.outputs.append(block)

    @contextmanager
    def working(self, label: str) -> Iterator[Callable[[str], None]]:
        yield lambda text: None

    def get_editor_text(self) -> str:
        return self.editor_text

    def set_editor_text(self, text: str) -> None:
        self.editor_text = text

    def request_render(self) -> None:
        self._changed.set()

    def shown_rows(self) -> list[str]:
        return [row for block in self.outputs for row in block.render(60)]

    def refresh(self, title: str = "") -> None:
        self.refreshes += 1

    def reload_session(self) -> None:
        self.reloads += 1

    async def edit_file(self, path: Path, environ: Mapping[str, str]) -> None:
        raise NotImplementedError

    async def open_external_editor(self, text: str, *, suffix: str = ".md") -> str | None:
        return self.edited

    def quit(self) -> None:
        self.quits += 1

    async def _copy(self, command: Any, data: bytes) -> bool:
        self.copied.append(data.decode())
        return True


class FakePort:
    """A session facade with settings only, for dialogs that need nothing else."""

    def __init__(self) -> None:
        self.settings = Settings.in_memory()


async def settle() -> None:
    """Let all ready tasks run."""
    for _ in range(20):
        await asyncio.sleep(0)

from __future__ import annotations

import asyncio

import pytest

from examples.gallery import Gallery, frame, main, show
from pi.tui.terminal import Capabilities
from pi.tui.testing import VirtualTerminal
from pi.tui.text.width import visible_width
from tests.tui.snapshots import FRAMES, actual, expected


@pytest.mark.parametrize("name", FRAMES)
def test_the_gallery_matches_its_snapshots(name: str) -> None:
    assert actual(name) == expected(name)


@pytest.mark.behaviour("lines-fit-the-terminal")
@pytest.mark.parametrize("width", [1, 2, 3, 7, 20, 33, 80, 200])
def test_every_widget_fits_every_width(width: int) -> None:
    assert max(map(visible_width, Gallery().render(width))) <= width


def test_the_frame_can_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--print", "40", "--light"]) == 0

    assert capsys.readouterr().out == "".join(f"{row}\n" for row in frame(40, "light"))


class WatchedTerminal(VirtualTerminal):
    """Sets an event when something was written."""

    def __init__(self) -> None:
        super().__init__(60, 80)
        self._written = asyncio.Event()

    def write(self, data: str) -> None:
        super().write(data)
        self._written.set()

    async def see(self, text: str) -> None:
        async with asyncio.timeout(30):
            while text not in "\n".join(self.screen):
                self._written.clear()
                await self._written.wait()


async def test_a_user_can_try_every_widget_and_quit() -> None:
    terminal = WatchedTerminal()
    visit = asyncio.create_task(show(terminal, Capabilities(), {}))

    await terminal.see("Gallery, dark")
    terminal.type("\x1b[B")
    await terminal.see("→ beta")
    terminal.type("\t\r")
    await terminal.see("→ Sound  off")
    terminal.type("\tq.")  # in a field, a q is a letter
    await terminal.see("> q.")
    terminal.type("\t\t\x1b")
    await terminal.see("Cancelled")
    terminal.type("\x14")
    await terminal.see("Gallery, light")
    terminal.type("q")

    async with asyncio.timeout(30):
        await visit
    assert terminal.cursor_is_visible

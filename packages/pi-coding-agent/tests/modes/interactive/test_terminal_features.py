from __future__ import annotations

from pathlib import Path

import pytest

from pi.base.picture_sizes import PixelSize
from pi.modes.interactive.screen_settings import graphics_for, system_clipboard
from pi.tui.input.reports import CellSize
from pi.tui.terminal import Capabilities
from pi.tui.testing import VirtualTerminal
from pi.tui.tui import TUI
from tests.modes.interactive.app_fixture import AppFixture


def test_pictures_are_drawn_where_the_terminal_can() -> None:
    for images, expected in ((None, False), ("kitty", True)):
        capabilities = Capabilities(images=images)  # type: ignore[arg-type]
        tui = TUI(VirtualTerminal(), env={}, capabilities=capabilities)
        assert (graphics_for(tui, {}) is not None) is expected


@pytest.mark.behaviour("inline-images")
def test_picture_ids_are_random() -> None:
    tui = TUI(VirtualTerminal(), env={}, capabilities=Capabilities(images="kitty"))
    ids = {graphics.new_id() for _ in range(20) if (graphics := graphics_for(tui, {}))}

    assert len(ids) > 1
    assert all(0 < id < 1 << 24 for id in ids)


@pytest.mark.behaviour("inline-images")
def test_images_use_the_cell_size_of_the_terminal() -> None:
    tui = TUI(VirtualTerminal(), env={}, capabilities=Capabilities(images="kitty"))
    graphics = graphics_for(tui, {})
    assert graphics is not None
    tui.negotiation.handle_reply(CellSize(width=12, height=25))

    assert graphics.cell == PixelSize(12, 25)


async def test_without_clipboard_programs_text_is_copied_through_the_terminal(
    tmp_path: Path,
) -> None:
    written: list[str] = []
    app_fixture = AppFixture(tmp_path, environ={"PATH": str(tmp_path)})

    copied = await system_clipboard(app_fixture.start, written.append).copy("text")

    assert (copied.by, written) == ("terminal", ["\x1b]52;c;dGV4dA==\x07"])

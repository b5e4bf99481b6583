from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from pi.modes.interactive.composer.prompt import PAUSE_SECONDS
from pi.testing import says
from pi.tui.component import Component
from pi.tui.overlays import OverlayOptions
from pi.tui.widgets.select_list import SelectItem, SelectList
from pi.tui.widgets.text import Text
from tests.modes.interactive.theatre import Theatre


def asking(*names: str) -> Callable[[Callable[[str], None]], Component]:
    def build(done: Callable[[str], None]) -> Component:
        return SelectList(
            [SelectItem(value=name) for name in names],
            on_select=lambda item: done(item.value),
            on_cancel=lambda: done(""),
        )

    return build


@pytest.mark.behaviour("drafts-are-kept")
async def test_a_dialog_takes_the_place_of_the_editor_and_the_draft_stays(tmp_path: Path) -> None:
    async with Theatre(tmp_path).playing() as theatre:
        assert theatre.commands is not None
        ui = theatre.commands.ui
        theatre.type("my draft")
        await theatre.sees("my draft")
        await theatre.clock.advance(PAUSE_SECONDS)
        answer = asyncio.ensure_future(ui.show(asking("one", "two")))
        await theatre.sees("→ one")
        assert "my draft" not in theatre.screen
        theatre.type("\x1b[B")
        theatre.type("\r")
        assert await answer == "two"
        await theatre.sees("my draft")
        theatre.type("!")
        await theatre.sees("my draft!")


@pytest.mark.behaviour("early-keys-are-kept")
async def test_a_dialog_does_not_take_keys_while_the_user_types(tmp_path: Path) -> None:
    async with Theatre(tmp_path, says("Heard.")).playing() as theatre:
        assert theatre.commands is not None
        theatre.type("half")
        await theatre.sees("half")
        answer = asyncio.ensure_future(theatre.commands.ui.show(asking("one")))
        await theatre.quiet()
        theatre.send(" a message")
        await theatre.sees("▌ half a message")
        await theatre.sees("Heard.")
        assert "→ one" not in theatre.screen
        await theatre.clock.advance(PAUSE_SECONDS)
        await theatre.sees("→ one")
        theatre.type("\r")
        assert await answer == "one"


async def test_dialogs_stack_and_a_cancelled_one_goes_away(tmp_path: Path) -> None:
    async with Theatre(tmp_path).playing() as theatre:
        assert theatre.commands is not None
        ui = theatre.commands.ui
        below = asyncio.ensure_future(ui.show(asking("below")))
        await theatre.sees("→ below")
        above = asyncio.ensure_future(ui.show(asking("above")))
        await theatre.sees("→ above")
        above.cancel()
        await theatre.sees("→ below")
        theatre.type("\x1b")
        assert await below == ""


async def test_an_overlay_lies_over_everything(tmp_path: Path) -> None:
    async with Theatre(tmp_path).playing() as theatre:
        assert theatre.commands is not None
        ui = theatre.commands.ui
        options = OverlayOptions(width=20, anchor="top-right")
        answer = asyncio.ensure_future(ui.overlay(asking("over"), options))
        await theatre.sees("→ over")
        theatre.type("\r")
        assert await answer == "over"
        await theatre.loses("→ over")


async def test_what_is_said_in_passing_goes_and_what_went_wrong_stays(tmp_path: Path) -> None:
    async with Theatre(tmp_path).playing() as theatre:
        assert theatre.commands is not None
        ui = theatre.commands.ui
        ui.notify("first")
        ui.notify("copied", "success")
        ui.notify("it broke", "error")
        ui.add_output(Text("a table", 1, 0))
        await theatre.sees("✗ it broke")
        await theatre.sees("copied")
        assert "first" not in theatre.screen
        assert "a table" in theatre.screen


async def test_work_of_a_command_is_shown_while_it_goes_on(tmp_path: Path) -> None:
    async with Theatre(tmp_path).playing() as theatre:
        assert theatre.commands is not None
        ui = theatre.commands.ui
        with ui.working("Uploading") as relabel:
            await theatre.sees("Uploading")
            relabel("Uploading 50%")
            await theatre.clock.advance(0.1)
            await theatre.sees("Uploading 50%")
        await theatre.clock.advance(0.1)
        await theatre.loses("Uploading")


async def test_the_text_of_the_editor_can_be_read_and_set(tmp_path: Path) -> None:
    async with Theatre(tmp_path).playing() as theatre:
        assert theatre.commands is not None
        ui = theatre.commands.ui
        ui.set_editor_text("from a fork")
        await theatre.sees("from a fork")
        assert ui.get_editor_text() == "from a fork"
        assert ui.rows == 24

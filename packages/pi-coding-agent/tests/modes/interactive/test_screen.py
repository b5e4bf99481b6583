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
from tests.modes.interactive.app_fixture import AppFixture


def asking(*names: str) -> Callable[[Callable[[str], None]], Component]:
    def build(done: Callable[[str], None]) -> Component:
        return SelectList(
            [SelectItem(value=name) for name in names],
            on_select=lambda item: done(item.value),
            on_cancel=lambda: done(""),
        )

    return build


@pytest.mark.behaviour("drafts-are-kept")
async def test_a_dialog_replaces_the_editor_and_the_draft_is_kept(tmp_path: Path) -> None:
    async with AppFixture(tmp_path).running() as app_fixture:
        assert app_fixture.commands is not None
        ui = app_fixture.commands.ui
        app_fixture.type("my draft")
        await app_fixture.sees("my draft")
        await app_fixture.clock.advance(PAUSE_SECONDS)
        answer = asyncio.ensure_future(ui.show(asking("one", "two")))
        await app_fixture.sees("→ one")
        assert "my draft" not in app_fixture.screen
        app_fixture.type("\x1b[B")
        app_fixture.type("\r")
        assert await answer == "two"
        await app_fixture.sees("my draft")
        app_fixture.type("!")
        await app_fixture.sees("my draft!")


@pytest.mark.behaviour("early-keys-are-kept")
async def test_a_dialog_does_not_take_keys_while_the_user_types(tmp_path: Path) -> None:
    async with AppFixture(tmp_path, says("Heard.")).running() as app_fixture:
        assert app_fixture.commands is not None
        app_fixture.type("half")
        await app_fixture.sees("half")
        answer = asyncio.ensure_future(app_fixture.commands.ui.show(asking("one")))
        await app_fixture.quiet()
        app_fixture.send(" a message")
        await app_fixture.sees("▌ half a message")
        await app_fixture.sees("Heard.")
        assert "→ one" not in app_fixture.screen
        await app_fixture.clock.advance(PAUSE_SECONDS)
        await app_fixture.sees("→ one")
        app_fixture.type("\r")
        assert await answer == "one"


async def test_dialogs_stack_and_a_cancelled_one_goes_away(tmp_path: Path) -> None:
    async with AppFixture(tmp_path).running() as app_fixture:
        assert app_fixture.commands is not None
        ui = app_fixture.commands.ui
        below = asyncio.ensure_future(ui.show(asking("below")))
        await app_fixture.sees("→ below")
        above = asyncio.ensure_future(ui.show(asking("above")))
        await app_fixture.sees("→ above")
        above.cancel()
        await app_fixture.sees("→ below")
        app_fixture.type("\x1b")
        assert await below == ""


async def test_an_overlay_lies_over_everything(tmp_path: Path) -> None:
    async with AppFixture(tmp_path).running() as app_fixture:
        assert app_fixture.commands is not None
        ui = app_fixture.commands.ui
        options = OverlayOptions(width=20, anchor="top-right")
        answer = asyncio.ensure_future(ui.overlay(asking("over"), options))
        await app_fixture.sees("→ over")
        app_fixture.type("\r")
        assert await answer == "over"
        await app_fixture.loses("→ over")


async def test_transient_notices_are_replaced_and_errors_are_kept(tmp_path: Path) -> None:
    async with AppFixture(tmp_path).running() as app_fixture:
        assert app_fixture.commands is not None
        ui = app_fixture.commands.ui
        ui.notify("first")
        ui.notify("copied", "success")
        ui.notify("it broke", "error")
        ui.add_output(Text("a table", 1, 0))
        await app_fixture.sees("✗ it broke")
        await app_fixture.sees("copied")
        assert "first" not in app_fixture.screen
        assert "a table" in app_fixture.screen


async def test_the_progress_of_a_command_is_shown_until_it_ends(tmp_path: Path) -> None:
    async with AppFixture(tmp_path).running() as app_fixture:
        assert app_fixture.commands is not None
        ui = app_fixture.commands.ui
        with ui.working("Uploading") as relabel:
            await app_fixture.sees("Uploading")
            relabel("Uploading 50%")
            await app_fixture.clock.advance(0.1)
            await app_fixture.sees("Uploading 50%")
        await app_fixture.clock.advance(0.1)
        await app_fixture.loses("Uploading")


async def test_the_text_of_the_editor_can_be_read_and_set(tmp_path: Path) -> None:
    async with AppFixture(tmp_path).running() as app_fixture:
        assert app_fixture.commands is not None
        ui = app_fixture.commands.ui
        ui.set_editor_text("from a fork")
        await app_fixture.sees("from a fork")
        assert ui.get_editor_text() == "from a fork"
        assert ui.rows == 24

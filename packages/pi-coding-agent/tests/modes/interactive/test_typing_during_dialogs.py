"""For typing during the trust dialog see ``tests/screens/test_start.py``."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pi.modes.interactive.composer.prompt import PAUSE_SECONDS
from pi.modes.interactive.dialogs.questions import confirm
from pi.modes.interactive.type_ahead import type_ahead_to_composer
from tests.modes.interactive.app_fixture import AppFixture

DOWN, ENTER, PASTE = "\x1b[B", "\r", "\x1b[200~pasted\x1b[201~"
ENTER_RELEASED = "\x1b[13;1:3u"
SHIFTED_S = "\x1b[27;2;83~"
"""As terminals send it that encode every key with a modifier."""


async def test_text_and_pastes_reach_the_editor_and_other_keys_the_dialog(tmp_path: Path) -> None:
    async with AppFixture(tmp_path).running() as app_fixture:
        assert app_fixture.commands is not None
        frame, ui = app_fixture.app._frame, app_fixture.commands.ui
        with type_ahead_to_composer(frame.tui, frame.keymap, frame.composer):
            answer = asyncio.ensure_future(confirm(ui, "Sure?"))
            await app_fixture.sees("→ Yes")
            app_fixture.type(SHIFTED_S)
            app_fixture.type("ome ")
            app_fixture.type(ENTER_RELEASED)
            app_fixture.type(PASTE)
            await app_fixture.quiet()
            await app_fixture.clock.advance(PAUSE_SECONDS)
            app_fixture.type(DOWN)
            app_fixture.type(ENTER)
            assert await answer is False
        await app_fixture.sees("\nSome pasted\n")


async def test_letters_bound_to_dialog_actions_are_not_typed_into_the_editor(
    tmp_path: Path,
) -> None:
    app_fixture = AppFixture(tmp_path)
    app_fixture.fixture.write(".pi/agent/keybindings.json", '{"tui.select.down": ["down", "j"]}')
    async with app_fixture.running():
        assert app_fixture.commands is not None
        frame, ui = app_fixture.app._frame, app_fixture.commands.ui
        with type_ahead_to_composer(frame.tui, frame.keymap, frame.composer):
            answer = asyncio.ensure_future(confirm(ui, "Sure?"))
            await app_fixture.sees("→ Yes")
            app_fixture.type("j")
            await app_fixture.sees("→ No")
            app_fixture.type(ENTER)
            assert await answer is False
        assert frame.composer.text == ""

"""What it does for the question of trust: see ``tests/screens/test_start.py``."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pi.modes.interactive.composer.prompt import PAUSE_SECONDS
from pi.modes.interactive.dialogs.questions import confirm
from pi.modes.interactive.session_lifecycle import type_ahead_to_composer
from tests.modes.interactive.theatre import Theatre

DOWN, ENTER, PASTE = "\x1b[B", "\r", "\x1b[200~pasted\x1b[201~"
ENTER_RELEASED = "\x1b[13;1:3u"
SHIFTED_S = "\x1b[27;2;83~"
"""As terminals send it that encode every key with a modifier."""


async def test_text_and_pastes_reach_the_editor_and_other_keys_the_dialog(tmp_path: Path) -> None:
    async with Theatre(tmp_path).playing() as theatre:
        assert theatre.commands is not None
        frame, ui = theatre.app._frame, theatre.commands.ui
        with type_ahead_to_composer(frame.tui, frame.keymap, frame.composer):
            answer = asyncio.ensure_future(confirm(ui, "Sure?"))
            await theatre.sees("→ Yes")
            theatre.type(SHIFTED_S)
            theatre.type("ome ")
            theatre.type(ENTER_RELEASED)
            theatre.type(PASTE)
            await theatre.quiet()
            await theatre.clock.advance(PAUSE_SECONDS)
            theatre.type(DOWN)
            theatre.type(ENTER)
            assert await answer is False
        await theatre.sees("\nSome pasted\n")


async def test_letters_that_choose_are_not_text(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    theatre.stage.write(".pi/agent/keybindings.json", '{"tui.select.down": ["down", "j"]}')
    async with theatre.playing():
        assert theatre.commands is not None
        frame, ui = theatre.app._frame, theatre.commands.ui
        with type_ahead_to_composer(frame.tui, frame.keymap, frame.composer):
            answer = asyncio.ensure_future(confirm(ui, "Sure?"))
            await theatre.sees("→ Yes")
            theatre.type("j")
            await theatre.sees("→ No")
            theatre.type(ENTER)
            assert await answer is False
        assert frame.composer.text == ""

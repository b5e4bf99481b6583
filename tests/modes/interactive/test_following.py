from __future__ import annotations

from pathlib import Path

from pi.testing import says
from tests.modes.interactive.theatre import Theatre


async def test_settings_hold_at_once_when_they_change(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    async with theatre.playing():
        assert theatre.session is not None
        theatre.type("words")
        await theatre.sees("\nwords")
        theatre.session.settings.set({"editorPaddingX": 2})
        theatre.type("!")
        await theatre.sees("\n  words!")


async def test_what_comes_after_a_change_is_drawn_by_it(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, says("```\none\n```"), says("```\ntwo\n```"))
    async with theatre.playing():
        assert theatre.session is not None
        theatre.send("a")
        await theatre.sees("\n   one")
        theatre.session.settings.set({"markdown.codeBlockIndent": "| "})
        theatre.send("b")
        await theatre.sees("\n | two")

from __future__ import annotations

from pathlib import Path

from pi.modes.interactive.theme_selector import BUILT_IN
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


async def test_a_theme_of_an_extension_is_shown_once_it_is_loaded(
    tmp_path: Path,
) -> None:
    theatre = Theatre(tmp_path)
    light = (BUILT_IN / "light.json").read_text()
    mine = theatre.stage.write("elsewhere/mine.json", light.replace('"light"', '"mine"', 1))
    theatre.stage.write(".pi/agent/settings.json", '{"theme": "mine"}')
    known: list[Path] = []

    async def begin() -> None:
        known.append(mine)

    theatre.themes, theatre.begin = lambda: known, begin
    async with theatre.playing():
        assert theatre.commands is not None
        assert theatre.commands.ui.themes.current == "mine"
        assert "Unknown theme" not in theatre.screen


async def test_an_unknown_theme_is_reported(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    theatre.stage.write(".pi/agent/settings.json", '{"theme": "mine"}')
    async with theatre.playing():
        await theatre.sees('Unknown theme "mine".')

from __future__ import annotations

from pathlib import Path

from pi.modes.interactive.theme_selector import BUILT_IN
from pi.testing import says
from tests.modes.interactive.app_fixture import AppFixture


async def test_settings_hold_at_once_when_they_change(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.running():
        assert app_fixture.session is not None
        app_fixture.type("words")
        await app_fixture.sees("\nwords")
        app_fixture.session.settings.set({"editorPaddingX": 2})
        app_fixture.type("!")
        await app_fixture.sees("\n  words!")


async def test_answers_after_a_settings_change_are_drawn_with_it(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, says("```\none\n```"), says("```\ntwo\n```"))
    async with app_fixture.running():
        assert app_fixture.session is not None
        app_fixture.send("a")
        await app_fixture.sees("\n   one")
        app_fixture.session.settings.set({"markdown.codeBlockIndent": "| "})
        app_fixture.send("b")
        await app_fixture.sees("\n | two")


async def test_a_theme_of_an_extension_is_shown_once_it_is_loaded(
    tmp_path: Path,
) -> None:
    app_fixture = AppFixture(tmp_path)
    light = (BUILT_IN / "light.json").read_text()
    mine = app_fixture.fixture.write("elsewhere/mine.json", light.replace('"light"', '"mine"', 1))
    app_fixture.fixture.write(".pi/agent/settings.json", '{"theme": "mine"}')
    theme_files: list[Path] = []

    async def begin() -> None:
        theme_files.append(mine)

    app_fixture.themes, app_fixture.begin = lambda: theme_files, begin
    async with app_fixture.running():
        assert app_fixture.commands is not None
        assert app_fixture.commands.ui.themes.current == "mine"
        assert "Unknown theme" not in app_fixture.screen


async def test_an_unknown_theme_is_reported(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    app_fixture.fixture.write(".pi/agent/settings.json", '{"theme": "mine"}')
    async with app_fixture.running():
        await app_fixture.sees('Unknown theme "mine".')

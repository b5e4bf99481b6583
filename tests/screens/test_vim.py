"""Vim keys in the application; the tests of the editor have the keys themselves."""

from __future__ import annotations

from pathlib import Path

from pi.testing import calls, says
from tests.modes.interactive.app_fixture import AppFixture

ESCAPE, CTRL_R = "\x1b", "\x12"


def vim(tmp_path: Path, *steps: object) -> AppFixture:
    app_fixture = AppFixture(tmp_path, *steps)  # type: ignore[arg-type]
    app_fixture.fixture.write(".pi/agent/settings.json", '{"editor": {"mode": "vim"}}')
    return app_fixture


async def test_the_vim_mode_is_shown_and_vim_keys_edit_the_text(tmp_path: Path) -> None:
    app_fixture = vim(tmp_path, says("Yes."))
    async with app_fixture.running():
        await app_fixture.sees("── INSERT ─")
        app_fixture.type("one two three")
        app_fixture.type(ESCAPE)
        await app_fixture.sees("── NORMAL ─")
        app_fixture.type("bbdw")
        await app_fixture.sees("\none three\n")
        app_fixture.type("v$")
        await app_fixture.sees("── VISUAL ─")
        app_fixture.type("cfour")
        await app_fixture.sees("\none four\n")
        app_fixture.type(ESCAPE)
        await app_fixture.sees("── NORMAL ─")
        app_fixture.type("\r")
        await app_fixture.sees("▌ one four")
        await app_fixture.sees("Yes.")
        await app_fixture.sees("── INSERT ─")


async def test_escape_leaves_insert_mode_and_interrupts_only_in_normal_mode(
    tmp_path: Path,
) -> None:
    app_fixture = vim(tmp_path, calls("bash", command="cat gate"), says("Never said."))
    app_fixture.gate()
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.sees("Running bash")
        app_fixture.type("more")
        app_fixture.type(ESCAPE)
        await app_fixture.sees("── NORMAL ─")
        await app_fixture.quiet()
        assert "aborted" not in app_fixture.screen
        app_fixture.type("d")
        await app_fixture.sees("── NORMAL d ─")
        app_fixture.type(ESCAPE)
        await app_fixture.loses("NORMAL d")
        assert "aborted" not in app_fixture.screen
        app_fixture.type(ESCAPE)
        await app_fixture.sees("aborted")
        await app_fixture.rests()


async def test_escape_closes_suggestions_before_it_leaves_insert_mode(tmp_path: Path) -> None:
    app_fixture = vim(tmp_path)
    async with app_fixture.running():
        app_fixture.type("/mo")
        await app_fixture.sees("Select model")
        app_fixture.type(ESCAPE)
        await app_fixture.loses("Select model")
        await app_fixture.quiet()
        assert "── INSERT ─" in app_fixture.screen
        app_fixture.type(ESCAPE)
        await app_fixture.sees("── NORMAL ─")


async def test_ctrl_r_is_redo_in_normal_mode_and_the_search_in_insert_mode(tmp_path: Path) -> None:
    app_fixture = vim(tmp_path)
    async with app_fixture.running():
        app_fixture.type("one two")
        app_fixture.type(ESCAPE)
        await app_fixture.sees("── NORMAL ─")
        app_fixture.type("0dwu")
        await app_fixture.sees("\none two\n")
        app_fixture.type(CTRL_R)
        await app_fixture.sees("\ntwo\n")
        app_fixture.type("i")
        await app_fixture.sees("── INSERT ─")
        app_fixture.type(CTRL_R)
        await app_fixture.sees("Search earlier prompts")


async def test_the_setting_takes_effect_at_once(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.running():
        assert app_fixture.session is not None
        app_fixture.session.settings.set({"editor.mode": "vim"})
        app_fixture.type("x")
        await app_fixture.sees("── INSERT ─")
        app_fixture.session.settings.set({"editor.mode": "standard"})
        app_fixture.type("x")
        await app_fixture.loses("── INSERT ─")

"""Vim keys in the application; ``tests/tui/widgets/editor/test_vim.py`` has the keys themselves."""

from __future__ import annotations

from pathlib import Path

from pi.testing import calls, says
from tests.modes.interactive.theatre import Theatre

ESCAPE, CTRL_R = "\x1b", "\x12"


def vim(tmp_path: Path, *steps: object) -> Theatre:
    theatre = Theatre(tmp_path, *steps)  # type: ignore[arg-type]
    theatre.stage.write(".pi/agent/settings.json", '{"editor": {"mode": "vim"}}')
    return theatre


async def test_the_mode_is_shown_and_keys_edit(tmp_path: Path) -> None:
    theatre = vim(tmp_path, says("Yes."))
    async with theatre.playing():
        await theatre.sees("── INSERT ─")
        theatre.type("one two three")
        theatre.type(ESCAPE)
        await theatre.sees("── NORMAL ─")
        theatre.type("bbdw")
        await theatre.sees("\none three\n")
        theatre.type("v$")
        await theatre.sees("── VISUAL ─")
        theatre.type("cfour")
        await theatre.sees("\none four\n")
        theatre.type(ESCAPE)
        await theatre.sees("── NORMAL ─")
        theatre.type("\r")
        await theatre.sees("▌ one four")
        await theatre.sees("Yes.")
        await theatre.sees("── INSERT ─")


async def test_escape_leaves_insert_mode_and_interrupts_only_in_normal_mode(
    tmp_path: Path,
) -> None:
    theatre = vim(tmp_path, calls("bash", command="cat gate"), says("Never said."))
    theatre.gate()
    async with theatre.playing():
        theatre.send("go")
        await theatre.sees("Running bash")
        theatre.type("more")
        theatre.type(ESCAPE)
        await theatre.sees("── NORMAL ─")
        await theatre.quiet()
        assert "aborted" not in theatre.screen
        theatre.type("d")
        await theatre.sees("── NORMAL d ─")
        theatre.type(ESCAPE)
        await theatre.loses("NORMAL d")
        assert "aborted" not in theatre.screen
        theatre.type(ESCAPE)
        await theatre.sees("aborted")
        await theatre.rests()


async def test_escape_closes_suggestions_before_it_leaves_insert_mode(tmp_path: Path) -> None:
    theatre = vim(tmp_path)
    async with theatre.playing():
        theatre.type("/mo")
        await theatre.sees("Select model")
        theatre.type(ESCAPE)
        await theatre.loses("Select model")
        await theatre.quiet()
        assert "── INSERT ─" in theatre.screen
        theatre.type(ESCAPE)
        await theatre.sees("── NORMAL ─")


async def test_ctrl_r_is_redo_in_normal_mode_and_the_search_in_insert_mode(tmp_path: Path) -> None:
    theatre = vim(tmp_path)
    async with theatre.playing():
        theatre.type("one two")
        theatre.type(ESCAPE)
        await theatre.sees("── NORMAL ─")
        theatre.type("0dwu")
        await theatre.sees("\none two\n")
        theatre.type(CTRL_R)
        await theatre.sees("\ntwo\n")
        theatre.type("i")
        await theatre.sees("── INSERT ─")
        theatre.type(CTRL_R)
        await theatre.sees("Search earlier prompts")


async def test_the_setting_takes_effect_at_once(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    async with theatre.playing():
        assert theatre.session is not None
        theatre.session.settings.set({"editor.mode": "vim"})
        theatre.type("x")
        await theatre.sees("── INSERT ─")
        theatre.session.settings.set({"editor.mode": "standard"})
        theatre.type("x")
        await theatre.loses("── INSERT ─")

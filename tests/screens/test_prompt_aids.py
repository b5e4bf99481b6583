"""The search in earlier prompts, the help, and the placeholder of an empty editor."""

from __future__ import annotations

from pathlib import Path

from pi.testing import says
from tests.modes.interactive.app_fixture import AppFixture
from tests.screens.snapshots import check

CTRL_R, CTRL_C, ESCAPE, ENTER, DOWN = "\x12", "\x03", "\x1b", "\r", "\x1b[B"
PLACEHOLDER = "Ask anything, @file, !command, / for commands"


async def test_an_empty_editor_shows_a_placeholder(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, columns=60, rows=12)
    async with app_fixture.running():
        await app_fixture.sees(PLACEHOLDER)
        check("placeholder", app_fixture.screen)
        app_fixture.type("x")
        await app_fixture.loses("Ask anything")
        app_fixture.type("\x7f")
        await app_fixture.sees(PLACEHOLDER)


async def test_a_shell_command_is_labelled_in_the_border(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.running():
        app_fixture.type("!ls")
        await app_fixture.sees("── bash ─")
        app_fixture.type("\x01!")
        await app_fixture.sees("bash · not shown to the model")
        app_fixture.type(CTRL_C)
        await app_fixture.loses("bash")


async def test_ctrl_r_searches_the_prompts_of_this_and_of_earlier_sessions(tmp_path: Path) -> None:
    earlier = AppFixture(tmp_path, says("Yes."), says("No."))
    async with earlier.running():
        await earlier.asks("mend the engine\nand the brakes", "Yes.")
        await earlier.asks("paint the engine", "No.")
    app_fixture = AppFixture(tmp_path, says("Perhaps."), columns=70, rows=24)
    async with app_fixture.running():
        await app_fixture.asks("wash the car", "Perhaps.")
        app_fixture.type(CTRL_R)
        await app_fixture.sees("Search earlier prompts")
        await app_fixture.sees("paint the engine")
        await app_fixture.quiet()
        check("history-search", app_fixture.screen)
        app_fixture.type("ENGINE")
        await app_fixture.sees("No matching")
        app_fixture.type("\x15engine")
        await app_fixture.sees("→ paint the engine")
        app_fixture.type(CTRL_R)
        await app_fixture.sees("→ mend the engine")
        app_fixture.type(ENTER)
        await app_fixture.sees("\nmend the engine\nand the brakes\n")
        assert "Search earlier" not in app_fixture.screen


async def test_ctrl_r_searches_for_the_draft_and_escape_keeps_it(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, says("Yes."))
    async with app_fixture.running():
        await app_fixture.asks("mend the engine", "Yes.")
        app_fixture.type("brak")
        await app_fixture.sees("brak")
        app_fixture.type(CTRL_R)
        await app_fixture.sees("No matching items")
        app_fixture.type(ESCAPE)
        await app_fixture.loses("Search earlier")
        await app_fixture.sees("\nbrak\n")


async def test_a_question_mark_in_an_empty_editor_shows_the_help(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, columns=70, rows=24)
    async with app_fixture.running():
        app_fixture.type("?")
        await app_fixture.sees("At the beginning of a message")
        await app_fixture.quiet()
        check("help-overlay", app_fixture.screen)
        app_fixture.type(DOWN * 3)
        await app_fixture.loses("At the beginning of a message")
        app_fixture.type("?")
        await app_fixture.sees(PLACEHOLDER)
        app_fixture.type("why?")
        await app_fixture.sees("\nwhy?\n")


async def test_a_letter_closes_the_help_and_is_typed(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.running():
        app_fixture.type("?")
        await app_fixture.sees("At the beginning of a message")
        app_fixture.type("h")
        await app_fixture.sees("\nh\n")
        app_fixture.type("i")
        await app_fixture.sees("\nhi\n")


async def test_a_slash_closes_the_help_and_opens_the_menu(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.running():
        app_fixture.type("?")
        await app_fixture.sees("At the beginning of a message")
        app_fixture.type("/")
        await app_fixture.loses("At the beginning of a message")
        await app_fixture.sees("Select model")


async def test_the_keys_of_help_and_search_can_be_changed(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    app_fixture.fixture.write(
        ".pi/agent/keybindings.json", '{"app.help": "f1", "app.history.search": "f2"}'
    )
    async with app_fixture.running():
        app_fixture.type("?")
        await app_fixture.sees("\n?\n")
        app_fixture.type(CTRL_C)
        await app_fixture.sees(PLACEHOLDER)
        app_fixture.type("\x1bOP")
        await app_fixture.sees("At the beginning of a message")
        app_fixture.type(ESCAPE)
        await app_fixture.loses("At the beginning of a message")
        app_fixture.type("\x1bOQ")
        await app_fixture.sees("Search earlier prompts")

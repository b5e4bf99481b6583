"""The search in earlier prompts, the help, and what an empty editor shows."""

from __future__ import annotations

from pathlib import Path

from pi.testing import says
from tests.modes.interactive.theatre import Theatre
from tests.screens.snapshots import check

CTRL_R, CTRL_C, ESCAPE, ENTER, DOWN = "\x12", "\x03", "\x1b", "\r", "\x1b[B"
PLACEHOLDER = "Ask anything, @file, !command, / for commands"


async def test_an_empty_editor_shows_what_can_be_typed(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, columns=60, rows=12)
    async with theatre.playing():
        await theatre.sees(PLACEHOLDER)
        check("placeholder", theatre.screen)
        theatre.type("x")
        await theatre.loses("Ask anything")
        theatre.type("\x7f")
        await theatre.sees(PLACEHOLDER)


async def test_a_command_of_the_user_is_labelled(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    async with theatre.playing():
        theatre.type("!ls")
        await theatre.sees("── bash ─")
        theatre.type("\x01!")
        await theatre.sees("bash · not shown to the model")
        theatre.type(CTRL_C)
        await theatre.loses("bash")


async def test_ctrl_r_searches_the_prompts_of_this_and_of_earlier_sessions(tmp_path: Path) -> None:
    earlier = Theatre(tmp_path, says("Yes."), says("No."))
    async with earlier.playing():
        await earlier.asks("mend the engine\nand the brakes", "Yes.")
        await earlier.asks("paint the engine", "No.")
    theatre = Theatre(tmp_path, says("Perhaps."), columns=70, rows=24)
    async with theatre.playing():
        await theatre.asks("wash the car", "Perhaps.")
        theatre.type(CTRL_R)
        await theatre.sees("Search earlier prompts")
        await theatre.sees("paint the engine")
        await theatre.quiet()
        check("history-search", theatre.screen)
        theatre.type("ENGINE")
        await theatre.sees("No matching")
        theatre.type("\x15engine")
        await theatre.sees("→ paint the engine")
        theatre.type(CTRL_R)
        await theatre.sees("→ mend the engine")
        theatre.type(ENTER)
        await theatre.sees("\nmend the engine\nand the brakes\n")
        assert "Search earlier" not in theatre.screen


async def test_ctrl_r_begins_with_what_is_written_and_escape_leaves_it(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, says("Yes."))
    async with theatre.playing():
        await theatre.asks("mend the engine", "Yes.")
        theatre.type("brak")
        await theatre.sees("brak")
        theatre.type(CTRL_R)
        await theatre.sees("No matching items")
        theatre.type(ESCAPE)
        await theatre.loses("Search earlier")
        await theatre.sees("\nbrak\n")


async def test_a_question_mark_in_an_empty_editor_shows_the_help(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, columns=70, rows=24)
    async with theatre.playing():
        theatre.type("?")
        await theatre.sees("At the beginning of a message")
        await theatre.quiet()
        check("help-overlay", theatre.screen)
        theatre.type(DOWN * 3)
        await theatre.loses("At the beginning of a message")
        theatre.type("?")
        await theatre.sees(PLACEHOLDER)
        theatre.type("why?")
        await theatre.sees("\nwhy?\n")


async def test_a_letter_closes_the_help_and_is_typed(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    async with theatre.playing():
        theatre.type("?")
        await theatre.sees("At the beginning of a message")
        theatre.type("h")
        await theatre.sees("\nh\n")
        theatre.type("i")
        await theatre.sees("\nhi\n")


async def test_a_slash_closes_the_help_and_opens_the_menu(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    async with theatre.playing():
        theatre.type("?")
        await theatre.sees("At the beginning of a message")
        theatre.type("/")
        await theatre.loses("At the beginning of a message")
        await theatre.sees("Select model")


async def test_the_keys_of_help_and_search_can_be_changed(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    theatre.stage.write(
        ".pi/agent/keybindings.json", '{"app.help": "f1", "app.history.search": "f2"}'
    )
    async with theatre.playing():
        theatre.type("?")
        await theatre.sees("\n?\n")
        theatre.type(CTRL_C)
        await theatre.sees(PLACEHOLDER)
        theatre.type("\x1bOP")
        await theatre.sees("At the beginning of a message")
        theatre.type(ESCAPE)
        await theatre.loses("At the beginning of a message")
        theatre.type("\x1bOQ")
        await theatre.sees("Search earlier prompts")

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi.testing import calls, says
from tests.coding.runtime.stage import kinds
from tests.modes.interactive.theatre import Theatre

CTRL_O, CTRL_T, ESCAPE = "\x0f", "\x14", "\x1b"


async def test_a_command_behind_an_exclamation_mark_runs_and_is_kept(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    async with theatre.playing():
        theatre.send("!echo hello; exit 2")
        await theatre.sees("exit 2\n")
        await theatre.sees("   hello")
        await theatre.sees(" ! echo hello; exit 2")
        session = theatre.session
        assert session is not None
        await theatre.until(lambda: "bashExecution" in kinds(session))


async def test_the_border_shows_that_a_command_is_being_written(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    async with theatre.playing():
        await theatre.sees("(faux) faux")
        thinking = theatre.terminal.style(0, 1)["fg"]
        theatre.type("!")
        await theatre.until(lambda: theatre.terminal.style(0, 1)["fg"] != thinking)
        theatre.type(ESCAPE)
        await theatre.until(lambda: theatre.terminal.style(0, 1)["fg"] == thinking)


@pytest.mark.behaviour("display-toggle-keeps-live-output")
async def test_folding_does_not_clear_the_output_of_a_running_command(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, rows=40)
    gate = theatre.gate()
    async with theatre.playing():
        theatre.send("!seq 1 3; cat gate")
        await theatre.sees("   3")
        theatre.type(CTRL_O)
        theatre.type(CTRL_T)
        await theatre.sees("Thinking is shown.")
        await theatre.sees("   3")
        await gate.open("the rest")
        await theatre.sees("   the rest")
        assert "   3" in theatre.screen


@pytest.mark.behaviour("display-toggle-keeps-live-output")
async def test_folding_does_not_clear_the_live_output_of_a_tool(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, calls("bash", command="seq 1 9; cat gate"), says("Done."), rows=40)
    gate = theatre.gate()
    async with theatre.playing():
        theatre.send("go")
        await theatre.sees("   9")
        theatre.type(CTRL_O)
        await theatre.sees("   1\n   2")
        theatre.type(CTRL_O)
        await theatre.sees("… 4 earlier lines")
        await gate.open("the rest")
        await theatre.sees("Done.")
        await theatre.sees("   the rest")


async def test_escape_ends_a_command_that_runs(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    theatre.gate()
    async with theatre.playing():
        theatre.send("!!cat gate")
        await theatre.sees(" !! cat gate")
        await theatre.sees("Running a command · esc to interrupt")
        await theatre.quiet()
        theatre.type(ESCAPE)
        await theatre.sees("cancelled")
        await theatre.loses("Running a command")


async def test_a_command_runs_beside_the_agent(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, calls("bash", command="cat gate"), says("Done."), rows=40)
    gate = theatre.gate()
    async with theatre.playing():
        theatre.send("go")
        await theatre.sees("Running bash")
        theatre.send("!echo beside")
        await theatre.sees("   beside")
        await gate.open()
        await theatre.sees("Done.")


async def test_colours_of_a_command_stay_on_the_screen_and_nowhere_else(tmp_path: Path) -> None:
    async with Theatre(tmp_path).playing() as theatre:
        theatre.send("!printf '\\033[31mred\\033[0m plain\\n'; exit 3")
        await theatre.sees("   exit 3")
        row = next(n for n, text in enumerate(theatre.terminal.screen) if text == "   red plain")
        colours = [theatre.terminal.style(column, row)["fg"] for column in (3, 8)]
        assert colours[0] == ("palette", 1)
        assert colours[1] != colours[0]
        assert theatre.session is not None
        entries = [json.loads(bytes(raw)) for raw in theatre.session.facts.entries()]
        messages = [entry["message"] for entry in entries if "message" in entry]
        assert [message["output"].strip() for message in messages] == ["red plain"]

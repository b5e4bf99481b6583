from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi.testing import calls, says
from tests.coding.runtime.session_fixture import kinds
from tests.modes.interactive.app_fixture import AppFixture

CTRL_O, CTRL_T, ESCAPE = "\x0f", "\x14", "\x1b"


async def test_a_command_after_an_exclamation_mark_runs_and_is_stored(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.running():
        app_fixture.send("!echo hello; exit 2")
        await app_fixture.sees("exit 2\n")
        await app_fixture.sees("   hello")
        await app_fixture.sees(" ! echo hello; exit 2")
        session = app_fixture.session
        assert session is not None
        await app_fixture.until(lambda: "bashExecution" in kinds(session))


async def test_the_border_changes_its_colour_while_a_command_is_typed(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.running():
        await app_fixture.sees("(faux) faux")
        thinking = app_fixture.terminal.style(0, 1)["fg"]
        app_fixture.type("!")
        await app_fixture.until(lambda: app_fixture.terminal.style(0, 1)["fg"] != thinking)
        app_fixture.type(ESCAPE)
        await app_fixture.until(lambda: app_fixture.terminal.style(0, 1)["fg"] == thinking)


@pytest.mark.behaviour("display-toggle-keeps-live-output")
async def test_folding_does_not_clear_the_output_of_a_running_command(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, rows=40)
    gate = app_fixture.gate()
    async with app_fixture.running():
        app_fixture.send("!seq 1 3; cat gate")
        await app_fixture.sees("   3")
        app_fixture.type(CTRL_O)
        app_fixture.type(CTRL_T)
        await app_fixture.sees("Thinking is shown.")
        await app_fixture.sees("   3")
        await gate.open("the rest")
        await app_fixture.sees("   the rest")
        assert "   3" in app_fixture.screen


@pytest.mark.behaviour("display-toggle-keeps-live-output")
async def test_folding_does_not_clear_the_live_output_of_a_tool(tmp_path: Path) -> None:
    app_fixture = AppFixture(
        tmp_path, calls("bash", command="seq 1 9; cat gate"), says("Done."), rows=40
    )
    gate = app_fixture.gate()
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.sees("   9")
        app_fixture.type(CTRL_O)
        await app_fixture.sees("   1\n   2")
        app_fixture.type(CTRL_O)
        await app_fixture.sees("… 4 earlier lines")
        await gate.open("the rest")
        await app_fixture.sees("Done.")
        await app_fixture.sees("   the rest")


async def test_escape_cancels_a_running_command(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    app_fixture.gate()
    async with app_fixture.running():
        app_fixture.send("!!cat gate")
        await app_fixture.sees(" !! cat gate")
        await app_fixture.sees("Running a command · esc to interrupt")
        await app_fixture.quiet()
        app_fixture.type(ESCAPE)
        await app_fixture.sees("cancelled")
        await app_fixture.loses("Running a command")


async def test_a_command_runs_beside_the_agent(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, calls("bash", command="cat gate"), says("Done."), rows=40)
    gate = app_fixture.gate()
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.sees("Running bash")
        app_fixture.send("!echo beside")
        await app_fixture.sees("   beside")
        await gate.open()
        await app_fixture.sees("Done.")


async def test_colours_of_a_command_are_shown_and_not_stored(tmp_path: Path) -> None:
    async with AppFixture(tmp_path).running() as app_fixture:
        app_fixture.send("!printf '\\033[31mred\\033[0m plain\\n'; exit 3")
        await app_fixture.sees("   exit 3")
        row = next(
            n for n, text in enumerate(app_fixture.terminal.screen) if text == "   red plain"
        )
        colours = [app_fixture.terminal.style(column, row)["fg"] for column in (3, 8)]
        assert colours[0] == ("palette", 1)
        assert colours[1] != colours[0]
        assert app_fixture.session is not None
        entries = [json.loads(bytes(raw)) for raw in app_fixture.session.info.entries()]
        messages = [entry["message"] for entry in entries if "message" in entry]
        assert [message["output"].strip() for message in messages] == ["red plain"]

"""Extensions that decide about trust before any file of the project is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.program import Program
from tests.screens.terminal_user import TOUR, needs_pty, terminal_user

pytestmark = [pytest.mark.slow, needs_pty]

ASKING = """\
def extension(pi):
    @pi.on("project_trust")
    async def trust(event, ctx):
        assert (str(ctx.cwd), ctx.mode) == (event.cwd, "tui")
        agreed = await ctx.ui.confirm("Is this yours?", event.cwd)
        return {"trusted": "yes" if agreed else "no"}
"""
OF_PROJECT = """\
def extension(pi):
    @pi.on("session_start")
    def speak(event, ctx):
        ctx.ui.set_widget("own", ["the project speaks"])
"""


@pytest.mark.parametrize(("key", "trusted"), [("\r", True), ("\x1b", False)])
def test_an_extension_asks_the_user_whether_to_trust_a_project(
    tmp_path: Path, key: str, trusted: bool
) -> None:
    cli = Program.below(tmp_path)
    cli.write("extensions/asking.py", ASKING)
    own = cli.cwd / ".pi/extensions/own.py"
    own.parent.mkdir(parents=True)
    own.write_text(OF_PROJECT)
    with terminal_user(cli, *TOUR) as ada:
        ada.sees("Is this yours?")
        ada.types(key)
        ada.sees("(demo) tour")
        ada.types("!!echo $((40 + 2)) is it\r")
        ada.sees("   42 is it")
        assert ("the project speaks" in ada.tape) is trusted

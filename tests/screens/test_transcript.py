"""Entries of the transcript that are not part of an ordinary turn."""

from __future__ import annotations

import base64
import json
import re
from io import BytesIO
from pathlib import Path

from PIL import Image as Pillow

from pi.ai.messages import Text, Thinking
from pi.coding.runtime.options import ToolFilter
from pi.testing import Reply, call, calls, says
from tests.modes.interactive.app_fixture import AppFixture
from tests.screens.snapshots import check

CTRL_O = "\x0f"
PLACEHOLDER = re.compile("\U0010eeee[\u0300-\u036f]*")
"""A cell in which kitty draws a part of a picture."""


async def test_searches_and_other_tools_match_their_snapshots(tmp_path: Path) -> None:
    answer = Reply(
        blocks=(
            Thinking(thinking="Where is it?"),
            call("grep", pattern="def ", path="."),
            call("find", pattern="*.py"),
            call("ls"),
            call("grep", pattern="nowhere"),
            call("dig", depth=3, where="the garden"),
        )
    )
    tools = ToolFilter(only=("read", "grep", "find", "ls"))
    app_fixture = AppFixture(tmp_path, answer, says("Not here."), rows=40, tools=tools)
    app_fixture.fixture.write("project/a.py", "def one():\n    pass\n\n\ndef two():\n    pass\n")
    app_fixture.fixture.write("project/b.py", "")
    async with app_fixture.running():
        await app_fixture.asks("Find it", "Not here.")
        await check_folded_and_expanded(app_fixture, "searches", "a.py:1: def one():")


async def test_user_commands_and_notices_match_their_snapshot(tmp_path: Path) -> None:
    cut = Reply(blocks=(Text(text="It begins with"),), stop_reason="length")
    async with AppFixture(tmp_path, cut, rows=50).running() as app_fixture:
        app_fixture.send("!seq 1 25; exit 2")
        await app_fixture.sees("   exit 2")
        app_fixture.send("!!echo between us")
        await app_fixture.sees("   between us")
        await app_fixture.asks("Write me a story", "output limit")
        assert app_fixture.commands is not None
        app_fixture.commands.ui.notify("The key is about to expire.", "warning")
        app_fixture.commands.ui.notify("It could not be saved.", "error")
        await app_fixture.sees("could not be saved")
        await app_fixture.quiet()
        check("commands-and-notices", app_fixture.screen)


async def test_dividers_of_compactions_and_branches_match_their_snapshots(tmp_path: Path) -> None:
    answers = ("One.", "Two.", "Tried *two*.", "Three.", "The *story* so far.", "Its end.")
    app_fixture = AppFixture(tmp_path, *map(says, answers), rows=30)
    app_fixture.fixture.write(".pi/agent/settings.json", '{"compaction": {"keepRecentTokens": 1}}')
    async with app_fixture.running():
        session, commands = app_fixture.session, app_fixture.commands
        assert session is not None
        assert commands is not None
        await app_fixture.asks(f"A story. {'And so on. ' * 30}", "One.")
        await app_fixture.asks("Try two", "Two.")
        await session.tree.go_to(session.info.fork_points()[-1].entry_id, summarize=True)
        commands.ui.reload_session()
        await app_fixture.sees("Back from another branch")
        await app_fixture.asks("Try three", "Three.")
        await session.compaction.compact()
        await app_fixture.sees("Compacted from")
        await check_folded_and_expanded(app_fixture, "dividers", "The story so far.")


async def test_a_picture_is_shown_if_the_terminal_supports_it_and_described_otherwise(
    tmp_path: Path,
) -> None:
    shown, named = [
        AppFixture(
            tmp_path / name, calls("read", path="red.png"), says("It is red."), environ=environ
        )
        for name, environ in (("shown", {"KITTY_WINDOW_ID": "1"}), ("named", {}))
    ]
    data = base64.b64encode(coloured("red")).decode()
    for app_fixture in (shown, named):
        (app_fixture.fixture.cwd / "red.png").write_bytes(coloured("red"))
        async with app_fixture.running():
            await app_fixture.asks("What colour?", "It is red.")
            app_fixture.type(CTRL_O)
            await app_fixture.quiet()
            readable = PLACEHOLDER.sub("▒", app_fixture.screen)
            check(f"picture-{app_fixture.fixture.home.parent.name}", readable)
    assert [app_fixture.written.count(data) for app_fixture in (shown, named)] == [1, 0]


async def test_the_number_of_inline_images_is_limited_by_the_setting(tmp_path: Path) -> None:
    drawn = {}
    for limit in (0, 1, 2):
        answers = [calls("read", path="red.png"), calls("read", path="blue.png"), says("Seen.")]
        app_fixture = AppFixture(tmp_path / str(limit), *answers, environ={"KITTY_WINDOW_ID": "1"})
        (app_fixture.fixture.cwd / "red.png").write_bytes(coloured("red"))
        (app_fixture.fixture.cwd / "blue.png").write_bytes(coloured("blue"))
        settings = {"tui": {"maxInlineImages": limit}}
        app_fixture.fixture.write(".pi/agent/settings.json", json.dumps(settings))
        async with app_fixture.running():
            await app_fixture.asks("Look", "Seen.")
            app_fixture.type(CTRL_O)
            await app_fixture.quiet()
        pictures = (base64.b64encode(coloured(colour)).decode() for colour in ("red", "blue"))
        sent = sum(app_fixture.written.count(data) for data in pictures)
        drawn[limit] = sent, app_fixture.written.count("\x1b_Ga=d,d=I")

    assert drawn == {0: (0, 0), 1: (2, 1), 2: (2, 0)}


async def check_folded_and_expanded(app_fixture: AppFixture, name: str, unfolded: str) -> None:
    """Compare the screen, then the expanded screen, which contains ``unfolded``."""
    await app_fixture.quiet()
    check(name, app_fixture.screen)
    app_fixture.type(CTRL_O)
    await app_fixture.sees(unfolded)
    await app_fixture.quiet()
    check(f"{name}-expanded", app_fixture.screen)


def coloured(colour: str) -> bytes:
    """Return a picture of 90 by 54 pixels: ten by three cells."""
    output = BytesIO()
    Pillow.new("RGB", (90, 54), colour).save(output, "PNG")
    return output.getvalue()


async def test_a_missing_file_is_reported_without_an_error_code(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, calls("read", path="nope.txt"), says("Gone."), columns=200)
    async with app_fixture.running():
        await app_fixture.asks("go", "Gone.")
        assert "No such file or directory '" in app_fixture.screen
        assert "ENOENT" not in app_fixture.tape
        assert "access '" not in app_fixture.tape

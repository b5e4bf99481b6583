"""What the transcript shows beside a usual turn, each kind once."""

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
from tests.modes.interactive.theatre import Theatre
from tests.screens.snapshots import check

CTRL_O = "\x0f"
PLACEHOLDER = re.compile("\U0010eeee[\u0300-\u036f]*")
"""A cell in which kitty draws a part of a picture."""


async def test_searches_and_other_tools_look_like_this(tmp_path: Path) -> None:
    asked = Reply(
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
    theatre = Theatre(tmp_path, asked, says("Not here."), rows=40, tools=tools)
    theatre.stage.write("project/a.py", "def one():\n    pass\n\n\ndef two():\n    pass\n")
    theatre.stage.write("project/b.py", "")
    async with theatre.playing():
        await theatre.asks("Find it", "Not here.")
        await check_folded_and_expanded(theatre, "searches", "a.py:1: def one():")


async def test_commands_of_the_user_and_what_went_wrong_look_like_this(tmp_path: Path) -> None:
    cut = Reply(blocks=(Text(text="It begins with"),), stop_reason="length")
    async with Theatre(tmp_path, cut, rows=40).playing() as theatre:
        theatre.send("!seq 1 15; exit 2")
        await theatre.sees("   exit 2")
        theatre.send("!!echo between us")
        await theatre.sees("   between us")
        await theatre.asks("Write me a story", "output limit")
        assert theatre.commands is not None
        theatre.commands.ui.notify("The key is about to expire.", "warning")
        theatre.commands.ui.notify("It could not be saved.", "error")
        await theatre.sees("could not be saved")
        await theatre.quiet()
        check("commands-and-notices", theatre.screen)


async def test_what_was_compacted_and_left_behind_is_divided_like_this(tmp_path: Path) -> None:
    answers = ("One.", "Two.", "Tried *two*.", "Three.", "The *story* so far.", "Its end.")
    theatre = Theatre(tmp_path, *map(says, answers), rows=30)
    theatre.stage.write(".pi/agent/settings.json", '{"compaction": {"keepRecentTokens": 1}}')
    async with theatre.playing():
        session, commands = theatre.session, theatre.commands
        assert session is not None
        assert commands is not None
        await theatre.asks(f"A story. {'And so on. ' * 30}", "One.")
        await theatre.asks("Try two", "Two.")
        await session.tree.go_to(session.facts.fork_points()[-1].entry_id, summarize=True)
        commands.ui.reload_session()
        await theatre.sees("Back from another branch")
        await theatre.asks("Try three", "Three.")
        await session.compaction.compact()
        await theatre.sees("Compacted from")
        await check_folded_and_expanded(theatre, "dividers", "The story so far.")


async def test_a_picture_is_shown_where_the_terminal_can_and_named_in_another_place(
    tmp_path: Path,
) -> None:
    shown, named = [
        Theatre(tmp_path / name, calls("read", path="red.png"), says("It is red."), environ=environ)
        for name, environ in (("shown", {"KITTY_WINDOW_ID": "1"}), ("named", {}))
    ]
    data = base64.b64encode(coloured("red")).decode()
    for theatre in (shown, named):
        (theatre.stage.cwd / "red.png").write_bytes(coloured("red"))
        async with theatre.playing():
            await theatre.asks("What colour?", "It is red.")
            theatre.type(CTRL_O)
            await theatre.quiet()
            readable = PLACEHOLDER.sub("▒", theatre.screen)
            check(f"picture-{theatre.stage.home.parent.name}", readable)
    assert [theatre.written.count(data) for theatre in (shown, named)] == [1, 0]


async def test_no_more_pictures_are_drawn_than_the_settings_say(tmp_path: Path) -> None:
    drawn = {}
    for limit in (0, 1, 2):
        answers = [calls("read", path="red.png"), calls("read", path="blue.png"), says("Seen.")]
        theatre = Theatre(tmp_path / str(limit), *answers, environ={"KITTY_WINDOW_ID": "1"})
        (theatre.stage.cwd / "red.png").write_bytes(coloured("red"))
        (theatre.stage.cwd / "blue.png").write_bytes(coloured("blue"))
        settings = {"tui": {"maxInlineImages": limit}}
        theatre.stage.write(".pi/agent/settings.json", json.dumps(settings))
        async with theatre.playing():
            await theatre.asks("Look", "Seen.")
            theatre.type(CTRL_O)
            await theatre.quiet()
        pictures = (base64.b64encode(coloured(colour)).decode() for colour in ("red", "blue"))
        sent = sum(theatre.written.count(data) for data in pictures)
        drawn[limit] = sent, theatre.written.count("\x1b_Ga=d,d=I")

    assert drawn == {0: (0, 0), 1: (2, 1), 2: (2, 0)}


async def check_folded_and_expanded(theatre: Theatre, name: str, unfolded: str) -> None:
    """Compare the screen, and once more with everything expanded; ``unfolded`` is seen then."""
    await theatre.quiet()
    check(name, theatre.screen)
    theatre.type(CTRL_O)
    await theatre.sees(unfolded)
    await theatre.quiet()
    check(f"{name}-expanded", theatre.screen)


def coloured(colour: str) -> bytes:
    """A picture of 90 by 54 pixels: ten cells by three."""
    output = BytesIO()
    Pillow.new("RGB", (90, 54), colour).save(output, "PNG")
    return output.getvalue()


async def test_a_file_that_is_missing_is_reported_in_plain_words(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, calls("read", path="nope.txt"), says("Gone."), columns=200)
    async with theatre.playing():
        await theatre.asks("go", "Gone.")
        assert "No such file or directory '" in theatre.screen
        assert "ENOENT" not in theatre.tape
        assert "access '" not in theatre.tape

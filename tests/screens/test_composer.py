"""What the user writes, and what is shown around it, as one sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.errors import ProviderUnavailable
from pi.testing import calls, says
from tests.modes.interactive.theatre import Theatre
from tests.screens.snapshots import check

ALT_ENTER = "\x1b[13;3u"
LONG_PASTE = "\x1b[200~" + "\n".join(f"line {number}" for number in range(30)) + "\x1b[201~"


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 12)])
async def test_queued_messages_stand_above_what_is_being_written(
    tmp_path: Path, columns: int, rows: int
) -> None:
    theatre = Theatre(
        tmp_path, calls("bash", command="cat gate"), says("Done."), columns=columns, rows=rows
    )
    theatre.gate()
    async with theatre.playing():
        theatre.send("go")
        await theatre.sees("Running bash")
        theatre.send("take the second one, and explain why it was the better choice")
        theatre.type("then commit\nit")
        theatre.type(ALT_ENTER)
        await theatre.sees("Follow-up: then commit it")
        theatre.type("half a thought")
        await theatre.quiet()
        check(f"queued-{columns}", theatre.screen)


async def test_commands_are_offered_below_the_editor(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, columns=60, rows=16)
    async with theatre.playing():
        theatre.type("/")
        await theatre.sees("→ model")
        await theatre.quiet()
        check("commands-offered", theatre.screen)


async def test_files_are_offered_behind_an_at_sign(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, columns=60, rows=16)
    for name in ("src/main.py", "src/mail.py", "with space/main.txt"):
        theatre.stage.write(f"project/{name}", "")
    async with theatre.playing():
        theatre.type("look at @mai")
        await theatre.sees("→ mai")
        await theatre.quiet()
        check("files-offered", theatre.screen)


async def test_a_long_paste_is_a_marker_until_it_is_sent(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, says("Thirty lines."), columns=60, rows=40)
    async with theatre.playing():
        theatre.type("see ")
        theatre.type(LONG_PASTE)
        theatre.type(" there")
        await theatre.sees(" there")
        await theatre.quiet()
        check("paste-marker", theatre.screen)
        theatre.type("\r")
        await theatre.sees("Thirty lines.")
        await theatre.sees("▌ see [paste +30 lines] there")
        theatre.type("\x0f")
        await theatre.sees("▌ line 29 there")


async def test_a_long_text_shows_the_lines_around_the_cursor(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, columns=40, rows=12)
    async with theatre.playing():
        theatre.type("\n".join(f"line {number}" for number in range(9)))
        theatre.type("\x1b[A" * 5)
        await theatre.sees("↓ 1 more")
        await theatre.quiet()
        check("long-draft", theatre.screen)


async def test_a_retry_is_reported_in_the_border_and_what_is_written_stays(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, ProviderUnavailable("overloaded"), says("At last."))
    async with theatre.playing():
        theatre.send("go")
        await theatre.sees("Retrying in 2s")
        theatre.type("meanwhile")
        await theatre.sees("meanwhile")
        await theatre.quiet()
        check("retry", theatre.screen)

"""The editor, its suggestions and the rows around it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.ai.errors import ProviderUnavailable
from pi.testing import calls, says
from tests.modes.interactive.app_fixture import AppFixture
from tests.screens.snapshots import check

ALT_ENTER = "\x1b[13;3u"
LONG_PASTE = "\x1b[200~" + "\n".join(f"line {number}" for number in range(30)) + "\x1b[201~"


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 12)])
async def test_queued_messages_are_shown_above_the_editor(
    tmp_path: Path, columns: int, rows: int
) -> None:
    app_fixture = AppFixture(
        tmp_path, calls("bash", command="cat gate"), says("Done."), columns=columns, rows=rows
    )
    app_fixture.gate()
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.sees("Running bash")
        app_fixture.send("take the second one, and explain why it was the better choice")
        app_fixture.type("then commit\nit")
        app_fixture.type(ALT_ENTER)
        await app_fixture.sees("Follow-up: then commit it")
        app_fixture.type("half a thought")
        await app_fixture.quiet()
        check(f"queued-{columns}", app_fixture.screen)


async def test_commands_are_suggested_below_the_editor(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, columns=60, rows=16)
    async with app_fixture.running():
        app_fixture.type("/")
        await app_fixture.sees("→ model")
        await app_fixture.quiet()
        check("commands-offered", app_fixture.screen)


async def test_files_are_suggested_after_an_at_sign(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, columns=60, rows=16)
    for name in ("src/main.py", "src/mail.py", "with space/main.txt"):
        app_fixture.fixture.write(f"project/{name}", "")
    async with app_fixture.running():
        app_fixture.type("look at @mai")
        await app_fixture.sees("→ mai")
        await app_fixture.quiet()
        check("files-offered", app_fixture.screen)


async def test_a_long_paste_is_a_marker_until_it_is_sent(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, says("Thirty lines."), columns=60, rows=40)
    async with app_fixture.running():
        app_fixture.type("see ")
        app_fixture.type(LONG_PASTE)
        app_fixture.type(" there")
        await app_fixture.sees(" there")
        await app_fixture.quiet()
        check("paste-marker", app_fixture.screen)
        app_fixture.type("\r")
        await app_fixture.sees("Thirty lines.")
        await app_fixture.sees("▌ see [paste +30 lines] there")
        app_fixture.type("\x0f")
        await app_fixture.sees("▌ line 29 there")


async def test_a_long_text_shows_the_lines_around_the_cursor(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, columns=40, rows=12)
    async with app_fixture.running():
        app_fixture.type("\n".join(f"line {number}" for number in range(9)))
        app_fixture.type("\x1b[A" * 5)
        await app_fixture.sees("↓ 1 more")
        await app_fixture.quiet()
        check("long-draft", app_fixture.screen)


async def test_a_retry_is_reported_in_the_border_and_the_draft_is_kept(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, ProviderUnavailable("overloaded"), says("At last."))
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.sees("Retrying in 2s")
        app_fixture.type("meanwhile")
        await app_fixture.sees("meanwhile")
        await app_fixture.quiet()
        check("retry", app_fixture.screen)

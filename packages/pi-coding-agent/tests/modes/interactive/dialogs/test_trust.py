"""The question about trust."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pi.coding.trust import TrustChoice, gated_in
from pi.modes.interactive.dialogs.project_trust import ask_lasting_trust, ask_trust
from tests.modes.interactive.fake_screen import FakeScreen

FOLDER = Path("/srv/site")


async def test_the_options_come_in_their_order(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    dialog = asyncio.create_task(ask_trust(screen, FOLDER, ()))
    await screen.wait_until_shown()
    lines = screen.lines(70)
    assert lines[:2] == [" Trust project folder?", " /srv/site"]
    assert lines[-8:-2] == [
        "",
        " → Trust",
        "   Trust parent folder (/srv)",
        "   Trust (this session only)",
        "   Do not trust",
        "   Do not trust (this session only)",
    ]
    await screen.press("down", "enter")
    assert await dialog == TrustChoice(trusted=True, directory=Path("/srv"), remember=True)


async def test_escape_returns_no_choice(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    dialog = asyncio.create_task(ask_trust(screen, FOLDER, ()))
    await screen.press("escape")
    assert await dialog is None


async def test_the_lasting_dialog_has_no_options_for_this_session_only(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    dialog = asyncio.create_task(ask_lasting_trust(screen, FOLDER))
    await screen.wait_until_shown()
    assert "this session only" not in screen.text()
    await screen.press("up", "enter")
    assert await dialog == TrustChoice(trusted=False, directory=FOLDER, remember=True)


async def test_the_trust_dialog_names_the_files_of_the_project(tmp_path: Path) -> None:
    folder = tmp_path / "site"
    (folder / ".pi" / "extensions").mkdir(parents=True)
    (folder / ".pi" / "extensions" / "hello.py").touch()
    (folder / ".pi" / "settings.json").touch()
    (folder / "AGENTS.md").touch()
    (folder / ".mcp.json").touch()
    gated = gated_in(folder, home=tmp_path, gates=[".mcp.json"])
    screen = FakeScreen(tmp_path)
    screen.rows = 40
    dialog = asyncio.create_task(ask_trust(screen, folder, gated))
    await screen.wait_until_shown()
    text = screen.text(100)
    assert " • .pi/settings.json  settings, which can name programs to run" in text
    assert " • .pi/extensions     code that runs inside pi" in text
    assert " • AGENTS.md          instructions for the model" in text
    assert " • .mcp.json          read by an extension" in text
    assert " • .pi/settings.json  settings, which\n   can name programs to run\n" in screen.text(40)
    assert "skill" not in text
    assert "prompt" not in text
    await screen.press("escape")
    assert await dialog is None

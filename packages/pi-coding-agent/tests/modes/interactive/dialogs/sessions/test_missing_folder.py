"""Sessions whose folder is gone."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from pi.modes.interactive.dialogs.opening import ask_about_folder
from tests.modes.interactive.fake_screen import FakeScreen


def stored_session(tmp_path: Path, cwd: str) -> Path:
    path = tmp_path / "s.jsonl"
    header = {"type": "session", "version": 3, "id": "x", "timestamp": "", "cwd": cwd}
    path.write_text(json.dumps(header) + "\n")
    return path


async def test_an_existing_folder_needs_no_confirmation(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    for cwd in (str(tmp_path), ""):
        answer = await ask_about_folder(screen, stored_session(tmp_path, cwd), "/here")
        assert answer == "continue"


@pytest.mark.behaviour("missing-directory-on-resume")
async def test_a_missing_folder_asks_whether_to_continue_here_or_in_a_fork(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    for keys, expected in (
        (["enter"], "continue"),
        (["down", "enter"], "fork"),
        (["escape"], None),
    ):
        dialog = asyncio.create_task(
            ask_about_folder(screen, stored_session(tmp_path, "/gone/away"), "/here")
        )
        await screen.wait_until_shown()
        assert "/gone/away no longer exists. This folder: /here" in screen.text(80)
        await screen.press(*keys)
        assert await dialog == expected

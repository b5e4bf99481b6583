"""Sessions whose folder is gone."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from pi.modes.interactive.dialogs.opening import confirm_missing_folder
from tests.modes.interactive.fake_screen import FakeScreen


def stored_session(tmp_path: Path, cwd: str) -> Path:
    path = tmp_path / "s.jsonl"
    header = {"type": "session", "version": 3, "id": "x", "timestamp": "", "cwd": cwd}
    path.write_text(json.dumps(header) + "\n")
    return path


async def test_an_existing_folder_needs_no_confirmation(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    assert await confirm_missing_folder(screen, stored_session(tmp_path, str(tmp_path)), "/here")
    assert await confirm_missing_folder(screen, stored_session(tmp_path, ""), "/here")


@pytest.mark.behaviour("missing-directory-on-resume")
async def test_a_missing_folder_asks_whether_to_continue_here(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    for keys, expected in ((["enter"], True), (["escape"], False)):
        dialog = asyncio.create_task(
            confirm_missing_folder(screen, stored_session(tmp_path, "/gone/away"), "/here")
        )
        await screen.wait_until_shown()
        assert "/gone/away no longer exists. Continue in" in screen.text(80)
        await screen.press(*keys)
        assert await dialog is expected

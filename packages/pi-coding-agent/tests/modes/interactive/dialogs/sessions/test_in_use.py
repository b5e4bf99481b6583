from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.coding.session.errors import SessionInUse
from pi.modes.interactive.dialogs.opening import ask_fork_busy_session
from tests.modes.interactive.fake_screen import FakeScreen


@pytest.mark.parametrize(("keys", "forks"), [(["enter"], True), (["down", "enter"], False)])
async def test_the_owner_is_shown_and_a_fork_is_offered(
    tmp_path: Path, keys: list[str], forks: bool
) -> None:
    screen = FakeScreen(tmp_path)
    busy = SessionInUse(Path("/s/a.jsonl"), 4711)
    task = asyncio.create_task(ask_fork_busy_session(screen, busy, no="Leave it"))
    await screen.until(lambda text: "open in process 4711" in text and "Leave it" in text)
    await screen.press(*keys)
    assert await task is forks

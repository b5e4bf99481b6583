"""Choosing where to fork."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pi.coding.port.results import ForkPoint
from pi.modes.interactive.dialogs.fork_point import pick_fork_point
from tests.modes.interactive.fake_screen import FakeScreen

MESSAGES = ("first\nline", "", '<file name="/p/a.py">\nx = 1\n</file>\nexplain', "x")
POINTS = [ForkPoint(entry_id=str(n), text=text) for n, text in enumerate(MESSAGES)]


async def test_the_last_message_is_selected_and_any_can_be_chosen(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    dialog = asyncio.create_task(pick_fork_point(screen, POINTS))
    await screen.wait_until_shown()
    assert [line for line in screen.lines() if line.startswith(("   ", " →"))] == [
        "   first line",
        "   (pictures)",
        "   @a.py explain",
        " → x",
    ]
    await screen.press("down", "enter")
    assert await dialog == POINTS[0]


async def test_without_messages_no_fork_point_can_be_chosen(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    dialog = asyncio.create_task(pick_fork_point(screen, []))
    await screen.press("enter")
    assert "No messages yet" in screen.text()
    await screen.press("escape")
    assert await dialog is None

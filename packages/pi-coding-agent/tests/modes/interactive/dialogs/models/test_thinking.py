"""Choosing a level on the screen."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pi.ai.models.thinking_levels import THINKING_LEVELS
from pi.modes.interactive.dialogs.thinking_picker import DESCRIPTIONS, PickedLevel, pick_thinking
from tests.modes.interactive.dialogs.models.samples import screen_with


async def test_a_level_is_chosen_and_kept(tmp_path: Path) -> None:
    screen = screen_with(tmp_path)
    dialog = asyncio.create_task(pick_thinking(screen))
    await screen.wait_until_shown()
    assert "→ low" in screen.text()
    await screen.press("down", "ctrl+s")
    assert await dialog == PickedLevel(level="high", as_default=True)


def test_every_level_is_described() -> None:
    assert tuple(DESCRIPTIONS) == THINKING_LEVELS

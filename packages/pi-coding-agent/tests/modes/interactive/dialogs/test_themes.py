"""Choosing a theme on the screen."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pi.modes.interactive.dialogs.settings.theme import FOLLOW, PickedTheme, pick_theme
from tests.modes.interactive.fake_screen import FakeScreen


async def test_the_selected_theme_is_previewed_at_once_and_returned(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    dialog = asyncio.create_task(pick_theme(screen))
    await screen.type("light")
    assert screen.themes.current == "light"
    await screen.press("enter")
    assert await dialog == PickedTheme(name="light")
    assert screen.themes.current == "light"


async def test_cancelling_restores_the_old_theme(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    screen.port.settings.set({"theme": "dark"})
    dialog = asyncio.create_task(pick_theme(screen))
    await screen.press("down")
    assert screen.themes.current == "light"
    await screen.press("escape")
    assert await dialog is None
    assert screen.themes.current == "dark"


async def test_following_the_terminal_is_a_choice(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    dialog = asyncio.create_task(pick_theme(screen))
    await screen.press("enter")
    assert await dialog == FOLLOW


async def test_a_broken_theme_is_reported_and_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    screen = FakeScreen(tmp_path)
    dialog = asyncio.create_task(pick_theme(screen))
    await screen.type("broken")
    assert screen.notices[-1][0] == "error"
    await screen.press("escape")
    assert await dialog is None

"""Asking for the missing values of a prompt template."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pi.coding.resources.prompts import MissingValues
from pi.modes.interactive.prompt_sender import ask_values
from tests.modes.interactive.fake_screen import FakeScreen

MISSING = MissingValues("fix", ("file", "goal"))


async def test_template_values_are_asked_for_one_after_the_other(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    dialog = asyncio.create_task(ask_values(screen, MISSING))
    await screen.until(lambda text: "/fix: file (1 of 2)" in text)
    await screen.type("a b")
    await screen.press("enter")
    await screen.until(lambda text: "/fix: goal (2 of 2)" in text)
    await screen.press("enter")

    assert await dialog == {"file": "a b", "goal": ""}


async def test_cancelling_returns_no_values(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    dialog = asyncio.create_task(ask_values(screen, MISSING))
    await screen.press("escape")

    assert await dialog is None

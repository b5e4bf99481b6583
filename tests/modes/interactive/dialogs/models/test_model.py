"""Choosing a model on the screen."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.modes.interactive.dialogs.models.model import PickedModel, pick_model
from tests.modes.interactive.dialogs.models.samples import GPT, SONNET, screen_with


async def test_the_current_model_is_first_and_badges_tell_about_each(tmp_path: Path) -> None:
    screen = screen_with(tmp_path)
    asked = asyncio.create_task(pick_model(screen))
    await screen.shown()
    assert screen.lines(70)[2:8] == [
        " > Type to search",
        " [All]  anthropic  openai  Without key",
        "",
        " → anthropic/haiku-4-5                           current · sees   200k",
        "   anthropic/sonnet-4-6                                  thinks     1M",
        "   openai/gpt-6                                         default   128k",
    ]
    await screen.press("escape")
    assert await asked is None


@pytest.mark.trap(208)
async def test_the_best_match_is_selected_while_typing(tmp_path: Path) -> None:
    screen = screen_with(tmp_path)
    asked = asyncio.create_task(pick_model(screen))
    await screen.press("down", "down", *"son46")
    assert "→ anthropic/sonnet-4-6" in screen.text()
    await screen.press("enter")
    assert await asked == PickedModel(model=SONNET)


async def test_tabs_show_one_provider_each_and_what_has_no_key(tmp_path: Path) -> None:
    screen = screen_with(tmp_path)
    asked = asyncio.create_task(pick_model(screen))
    await screen.press("tab", "tab")
    assert "[openai]" in screen.text()
    assert "anthropic/" not in screen.text()
    await screen.press("tab")
    assert "xai/grok-5" in screen.text()
    assert "no key" in screen.text()
    await screen.press("shift+tab", "ctrl+s")
    assert await asked == PickedModel(model=GPT, keep=True)

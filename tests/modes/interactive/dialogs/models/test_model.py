"""Choosing a model on the screen."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pi.ai.models.model import Model
from pi.coding.models.patterns import Choice
from pi.coding.runtime.port import SessionPort
from pi.coding.settings.settings import Settings
from pi.modes.interactive.dialogs.models.model import PickedModel, pick_model
from pi.modes.interactive.dialogs.models.scoped_models import PickedScope, pick_scope
from pi.modes.interactive.dialogs.models.thinking import PickedLevel, pick_thinking
from tests.modes.interactive.fake_screen import FakeScreen


def model(name: str, **more: Any) -> Model:
    provider, id = name.split("/")
    return Model(id=id, name=id.title(), api="x", provider=provider, **more)


SONNET = model("anthropic/sonnet-4-6", reasoning=True, context_window=1_000_000)
HAIKU = model("anthropic/haiku-4-5", input=("text", "image"), context_window=200_000)
GPT = model("openai/gpt-6")
GROK = model("xai/grok-5")


def screen_with(tmp_path: Path, *, scope: tuple[Model, ...] = ()) -> FakeScreen:
    """A session that has credentials for all but the last model."""
    models = SimpleNamespace(
        known=lambda: (SONNET, HAIKU, GPT, GROK),
        available=lambda: (SONNET, HAIKU, GPT),
        current=HAIKU,
        scope=tuple(Choice(model=each) for each in scope),
        thinking_level="low",
        levels=lambda: ("off", "low", "high"),
    )
    settings = Settings.in_memory({"defaultProvider": "openai", "defaultModel": "gpt-6"})
    port = SimpleNamespace(models=models, settings=settings)
    return FakeScreen(tmp_path, cast("SessionPort", port))


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


async def test_a_level_is_chosen_and_kept(tmp_path: Path) -> None:
    screen = screen_with(tmp_path)
    asked = asyncio.create_task(pick_thinking(screen))
    await screen.shown()
    assert "→ low" in screen.text()
    await screen.press("down", "ctrl+s")
    assert await asked == PickedLevel(level="high", keep=True)


async def test_a_scope_is_put_together_and_saved(tmp_path: Path) -> None:
    screen = screen_with(tmp_path)
    asked = asyncio.create_task(pick_scope(screen))
    await screen.press("enter", "down", "enter", "alt+up")
    assert screen.lines()[3:8] == [
        " 2 of 3 models",
        "",
        " → [x] anthropic/haiku-4-5",
        "   [x] anthropic/sonnet-4-6",
        "   [ ] openai/gpt-6",
    ]
    await screen.press("ctrl+s")
    names = ("anthropic/haiku-4-5", "anthropic/sonnet-4-6")
    assert await asked == PickedScope(names=names, keep=True)


async def test_a_scope_that_was_only_looked_at_stays(tmp_path: Path) -> None:
    screen = screen_with(tmp_path, scope=(GPT,))
    asked = asyncio.create_task(pick_scope(screen))
    await screen.press("ctrl+p", "ctrl+p", "escape")
    assert await asked is None

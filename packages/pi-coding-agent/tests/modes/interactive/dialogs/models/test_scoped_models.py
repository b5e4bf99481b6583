"""Choosing the models to cycle through, on the screen."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pi.modes.interactive.dialogs.model_scope import PickedScope, pick_scope
from tests.modes.interactive.dialogs.models.samples import GPT, LLAMA, screen_with


async def test_a_scope_is_chosen_and_saved(tmp_path: Path) -> None:
    screen = screen_with(tmp_path)
    dialog = asyncio.create_task(pick_scope(screen))
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
    assert await dialog == PickedScope(names=names, as_default=True)


async def test_cancelling_keeps_the_scope(tmp_path: Path) -> None:
    screen = screen_with(tmp_path, scope=(GPT,))
    dialog = asyncio.create_task(pick_scope(screen))
    await screen.press("ctrl+p", "ctrl+p", "escape")
    assert await dialog is None


async def test_models_of_a_server_on_this_machine_can_be_cycled_through(tmp_path: Path) -> None:
    screen = screen_with(tmp_path, scope=(GPT,), served=(LLAMA,))
    dialog = asyncio.create_task(pick_scope(screen))
    await screen.wait_until_shown()
    await screen.tasks.settle(30)
    assert " 1 of 4 models" in screen.lines()
    await screen.press(*"llama", "enter", "escape")

    assert await dialog == PickedScope(names=("openai/gpt-6", "ollama/llama"))

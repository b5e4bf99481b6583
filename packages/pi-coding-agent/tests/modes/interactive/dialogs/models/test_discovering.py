"""Asking the model servers of this machine when their models can be chosen."""

from __future__ import annotations

from pathlib import Path

from pi.modes.interactive.dialogs.model_picker import discover
from tests.modes.interactive.dialogs.models.samples import LLAMA, screen_with


async def test_the_list_is_updated_when_the_servers_have_answered(tmp_path: Path) -> None:
    screen = screen_with(tmp_path, served=(LLAMA,))
    seen: list[bool] = []
    discover(screen, then=lambda: seen.append(LLAMA in screen.port.models.registry.get_available()))

    assert seen == []  # no one waits
    await screen.tasks.settle(30)
    assert seen == [True]

"""Escape, Ctrl+C and the others are reported as stories in ``tests/screens/test_keys.py``."""

from __future__ import annotations

from pathlib import Path

from tests.modes.interactive.theatre import Theatre


async def test_a_key_that_is_bound_anew_works_at_once(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    theatre.stage.write(".pi/agent/keybindings.json", '{"app.session.tree": "ctrl+e"}')
    async with theatre.playing():
        theatre.type("\x05")
        await theatre.until(lambda: theatre.commands.ran == [("tree", "")])  # type: ignore[union-attr]


async def test_copying_is_a_command_too(tmp_path: Path) -> None:
    async with Theatre(tmp_path).playing() as theatre:
        theatre.type("\x18")
        await theatre.until(lambda: theatre.commands.ran == [("copy", "")])  # type: ignore[union-attr]

"""For Escape, Ctrl+C and the other keys see ``tests/screens/test_keys.py``."""

from __future__ import annotations

from pathlib import Path

from tests.modes.interactive.app_fixture import AppFixture


async def test_a_rebound_key_runs_its_action(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    app_fixture.fixture.write(".pi/agent/keybindings.json", '{"app.session.tree": "ctrl+e"}')
    async with app_fixture.running():
        app_fixture.type("\x05")
        await app_fixture.until(lambda: app_fixture.commands.ran == [("tree", "")])  # type: ignore[union-attr]


async def test_copying_is_a_command_too(tmp_path: Path) -> None:
    async with AppFixture(tmp_path).running() as app_fixture:
        app_fixture.type("\x18")
        await app_fixture.until(lambda: app_fixture.commands.ran == [("copy", "")])  # type: ignore[union-attr]

"""Ctrl+C and Ctrl+D on the whole screen: see ``tests/screens/test_keys.py``."""

from __future__ import annotations

from pathlib import Path

from tests.modes.interactive.app_fixture import AppFixture

CTRL_C, UP = "\x03", "\x1b[A"


async def test_ctrl_c_works_the_same_before_the_session_is_open(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    app_fixture.held_back()
    async with app_fixture.starting():
        app_fixture.type("something")
        await app_fixture.sees("something")
        app_fixture.type(CTRL_C)
        await app_fixture.loses("something")
        app_fixture.type(UP)
        await app_fixture.sees("something")
        app_fixture.type(CTRL_C)
        await app_fixture.until(lambda: app_fixture.app.has_ended)


async def test_the_exit_hint_names_the_bound_key(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    app_fixture.fixture.write(".pi/agent/keybindings.json", '{"app.clear": "ctrl+q"}')
    async with app_fixture.running():
        app_fixture.type("\x11")
        await app_fixture.sees("Press Ctrl+Q again to exit")

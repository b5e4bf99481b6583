"""Ctrl+C and Ctrl+D on the whole screen: see ``tests/screens/test_keys.py``."""

from __future__ import annotations

from pathlib import Path

from tests.modes.interactive.theatre import Theatre

CTRL_C, UP = "\x03", "\x1b[A"


async def test_ctrl_c_is_the_same_before_there_is_a_session(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    theatre.held_back()
    async with theatre.starting():
        theatre.type("something")
        await theatre.sees("something")
        theatre.type(CTRL_C)
        await theatre.loses("something")
        theatre.type(UP)
        await theatre.sees("something")
        theatre.type(CTRL_C)
        await theatre.until(lambda: theatre.app.has_ended)


async def test_the_key_that_is_pressed_twice_is_named_as_it_is_bound(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    theatre.stage.write(".pi/agent/keybindings.json", '{"app.clear": "ctrl+q"}')
    async with theatre.playing():
        theatre.type("\x11")
        await theatre.sees("Press Ctrl+Q again to exit")

from __future__ import annotations

import json
import os
from pathlib import Path

from pi.modes.interactive.theme_choice import BUILT_IN
from tests.modes.interactive.theatre import Theatre


def write_theme(theatre: Theatre, name: str, accent: str) -> Path:
    theme = json.loads((BUILT_IN / "dark.json").read_text())
    theme["name"] = name
    theme["colors"]["thinkingMedium"] = accent
    return theatre.stage.write(f".pi/agent/themes/{name}.json", json.dumps(theme))


async def test_a_theme_of_the_person_is_used_and_followed_when_it_changes(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    theatre.stage.write(".pi/agent/settings.json", '{"theme": "mine"}')
    path = write_theme(theatre, "mine", "#102030")
    async with theatre.playing():
        await theatre.until(
            lambda: theatre.terminal.style(0, 1)["fg"] == ("rgb", (0x10, 0x20, 0x30))
        )
        write_theme(theatre, "mine", "#405060")
        os.utime(path, ns=(1, 1))
        await theatre.clock.advance(5.0)
        await theatre.until(
            lambda: theatre.terminal.style(0, 1)["fg"] == ("rgb", (0x40, 0x50, 0x60))
        )


async def test_a_theme_that_does_not_exist_is_told(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    theatre.stage.write(".pi/agent/settings.json", '{"theme": "nothing"}')
    async with theatre.playing():
        await theatre.sees('There is no theme "nothing".')


async def test_the_screen_follows_a_terminal_that_turns_light(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    async with theatre.playing():
        await theatre.sees("(faux) faux")
        dark = theatre.terminal.style(0, 1)["fg"]
        theatre.type("\x1b[?997;2n")
        await theatre.until(lambda: theatre.terminal.style(0, 1)["fg"] != dark)
        theatre.type("\x1b[?997;1n")
        await theatre.until(lambda: theatre.terminal.style(0, 1)["fg"] == dark)


async def test_sixteen_colours_are_enough(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, environ={"TERM": "linux", "COLORTERM": ""})
    async with theatre.playing():
        await theatre.sees("(faux) faux")
    written = "".join(theatre.terminal.output)
    assert "38;2;" not in written
    assert "38;5;" not in written
    assert "\x1b[94m" in written


async def test_the_theme_follows_the_settings(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    async with theatre.playing():
        await theatre.sees("(faux) faux")
        assert theatre.session is not None
        dark = theatre.terminal.style(0, 1)["fg"]
        theatre.session.settings.set({"theme": "light"})
        await theatre.until(lambda: theatre.terminal.style(0, 1)["fg"] != dark)
        theatre.session.settings.set({"theme": "nothing"})
        await theatre.sees('There is no theme "nothing".')


async def test_a_theme_of_the_project_is_found_once_the_session_is_there(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    theatre.stage.write(".pi/agent/settings.json", '{"theme": "ours"}')
    path = write_theme(theatre, "ours", "#102030")
    path = path.rename(theatre.stage.cwd / "ours.json")
    theatre.themes = lambda: [path]
    async with theatre.playing():
        await theatre.until(
            lambda: theatre.terminal.style(0, 1)["fg"] == ("rgb", (0x10, 0x20, 0x30))
        )
        assert "There is no theme" not in theatre.tape


async def test_a_theme_of_the_command_line_wins_until_another_is_chosen(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    theatre.stage.write(".pi/agent/settings.json", '{"theme": "light"}')
    write_theme(theatre, "mine", "#102030")
    write_theme(theatre, "other", "#405060")
    theatre.theme = "mine"
    async with theatre.playing():
        await theatre.sees("(faux) faux")
        assert theatre.terminal.style(0, 1)["fg"] == ("rgb", (0x10, 0x20, 0x30))
        assert theatre.session is not None
        theatre.session.settings.set({"theme": "other"})
        await theatre.until(
            lambda: theatre.terminal.style(0, 1)["fg"] == ("rgb", (0x40, 0x50, 0x60))
        )

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from pi.ai.messages import Thinking
from pi.modes.interactive.theme_selector import BUILT_IN
from pi.testing import Reply, call, calls, says
from tests.modes.interactive.app_fixture import AppFixture
from tests.screens.snapshots import check, styled


def write_theme(app_fixture: AppFixture, name: str, accent: str) -> Path:
    theme = json.loads((BUILT_IN / "dark.json").read_text())
    theme["name"] = name
    theme["colors"]["thinkingMedium"] = accent
    return app_fixture.fixture.write(f".pi/agent/themes/{name}.json", json.dumps(theme))


async def test_a_user_theme_is_used_and_reloaded_when_its_file_changes(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    app_fixture.fixture.write(".pi/agent/settings.json", '{"theme": "mine"}')
    path = write_theme(app_fixture, "mine", "#102030")
    async with app_fixture.running():
        await app_fixture.until(
            lambda: app_fixture.terminal.style(0, 1)["fg"] == ("rgb", (0x10, 0x20, 0x30))
        )
        write_theme(app_fixture, "mine", "#405060")
        os.utime(path, ns=(1, 1))
        await app_fixture.clock.advance(5.0)
        await app_fixture.until(
            lambda: app_fixture.terminal.style(0, 1)["fg"] == ("rgb", (0x40, 0x50, 0x60))
        )


async def test_a_theme_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    app_fixture.fixture.write(".pi/agent/settings.json", '{"theme": "nothing"}')
    async with app_fixture.running():
        await app_fixture.sees('Unknown theme "nothing".')


async def test_the_screen_follows_the_colour_scheme_of_the_terminal(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.running():
        await app_fixture.sees("(faux) faux")
        dark = app_fixture.terminal.style(0, 1)["fg"]
        app_fixture.type("\x1b[?997;2n")
        await app_fixture.until(lambda: app_fixture.terminal.style(0, 1)["fg"] != dark)
        app_fixture.type("\x1b[?997;1n")
        await app_fixture.until(lambda: app_fixture.terminal.style(0, 1)["fg"] == dark)


POOR = {
    "sixteen": {"TERM": "linux", "COLORTERM": ""},
    "sixteen-on-light": {"TERM": "linux", "COLORTERM": "", "COLORFGBG": "0;15"},
    "none": {"NO_COLOR": "1"},
    "dumb": {"TERM": "dumb", "COLORTERM": ""},
}


@pytest.mark.behaviour("colour-depth-falls-back")
@pytest.mark.parametrize("name", sorted(POOR))
async def test_the_screen_matches_its_snapshot_with_few_or_no_colours(
    tmp_path: Path, name: str
) -> None:
    steps = (
        Reply(
            blocks=(
                Thinking(thinking="It **greets**."),
                call("bash", command="echo no; exit 3"),
                call("edit", path="a.py", edits=[{"oldText": "Hello", "newText": "Hi"}]),
                call("write", path="b.py", content='import os  # it\n\nprint("1", os.sep)\n'),
            )
        ),
        says("# Done\n\nSee `greet` and [this](https://example.org).\n\n> Fine\n"),
    )
    app_fixture = AppFixture(tmp_path, *steps, rows=40, environ=POOR[name], replies=False)
    app_fixture.fixture.write("project/a.py", "print('Hello')\n")
    async with app_fixture.running():
        await app_fixture.asks("Be brief", "Fine")
        shown = styled(app_fixture.terminal)
    assert "#" not in "".join(re.findall(r"\{.*?\}", shown))
    check(f"colours-{name}", shown)


async def test_the_theme_follows_the_settings(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.running():
        await app_fixture.sees("(faux) faux")
        assert app_fixture.session is not None
        dark = app_fixture.terminal.style(0, 1)["fg"]
        app_fixture.session.settings.set({"theme": "light"})
        await app_fixture.until(lambda: app_fixture.terminal.style(0, 1)["fg"] != dark)
        app_fixture.session.settings.set({"theme": "nothing"})
        await app_fixture.sees('Unknown theme "nothing".')


@pytest.mark.behaviour("toggles-redraw-everything")
async def test_the_transcript_is_redrawn_with_the_new_theme(tmp_path: Path) -> None:
    answers = (calls("bash", command="echo hi"), says("See `this`."))
    async with AppFixture(tmp_path, *answers).running() as app_fixture:
        await app_fixture.asks("Hello", "See this.")
        assert app_fixture.session is not None
        rows = [row for row, text in enumerate(app_fixture.terminal.screen) if text.strip()]
        before = [app_fixture.terminal.style(5, row) for row in rows[:4]]

        app_fixture.session.settings.set({"theme": "light"})
        await app_fixture.quiet()
        after = [app_fixture.terminal.style(5, row) for row in rows[:4]]

        assert [old == new for old, new in zip(before, after, strict=True)] == [False] * 4


async def test_a_project_theme_is_used_once_the_session_is_open(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    app_fixture.fixture.write(".pi/agent/settings.json", '{"theme": "ours"}')
    path = write_theme(app_fixture, "ours", "#102030")
    path = path.rename(app_fixture.fixture.cwd / "ours.json")
    app_fixture.themes = lambda: [path]
    async with app_fixture.running():
        await app_fixture.until(
            lambda: app_fixture.terminal.style(0, 1)["fg"] == ("rgb", (0x10, 0x20, 0x30))
        )
        assert "Unknown theme" not in app_fixture.tape


async def test_a_command_line_theme_wins_until_the_setting_changes(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    app_fixture.fixture.write(".pi/agent/settings.json", '{"theme": "light"}')
    write_theme(app_fixture, "mine", "#102030")
    write_theme(app_fixture, "other", "#405060")
    app_fixture.theme = "mine"
    async with app_fixture.running():
        await app_fixture.sees("(faux) faux")
        assert app_fixture.terminal.style(0, 1)["fg"] == ("rgb", (0x10, 0x20, 0x30))
        assert app_fixture.session is not None
        app_fixture.session.settings.set({"theme": "other"})
        await app_fixture.until(
            lambda: app_fixture.terminal.style(0, 1)["fg"] == ("rgb", (0x40, 0x50, 0x60))
        )

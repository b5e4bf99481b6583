from __future__ import annotations

import re
from pathlib import Path

from pi.testing import calls, says
from tests.modes.interactive.app_fixture import AppFixture
from tests.screens.snapshots import check

PAGE_UP, HOME, END, CTRL_UP = "\x1b[5~", "\x1b[1;5H", "\x1b[1;5F", "\x1b[1;5A"
CTRL_SHIFT_F = "\x1b[102;6u"
LINES = "\n".join(f"- item {number}" for number in range(60))


def fullscreen(tmp_path: Path, **settings: str) -> AppFixture:
    app_fixture = AppFixture(tmp_path, says(LINES), says("Short."), rows=20)
    more = "".join(f', "{name}": "{value}"' for name, value in settings.items())
    app_fixture.fixture.write(".pi/agent/settings.json", f'{{"tuiMode": "fullscreen"{more}}}')
    return app_fixture


def items(app_fixture: AppFixture) -> list[str]:
    """The rows of the list that are on the screen."""
    return re.findall(r"item \d+", app_fixture.screen)


async def test_the_transcript_scrolls_above_the_editor(tmp_path: Path) -> None:
    app_fixture = fullscreen(tmp_path)
    async with app_fixture.running():
        await app_fixture.asks("list", "item 59")
        check("fullscreen", app_fixture.screen)
        app_fixture.type(PAGE_UP)
        await app_fixture.loses("item 59")
        app_fixture.type("still typing")
        await app_fixture.sees("still typing")
        assert "item 59" not in app_fixture.screen
        app_fixture.type(END)
        await app_fixture.sees("item 59")
        app_fixture.type(CTRL_UP)
        await app_fixture.sees("▌ list")
        assert app_fixture.terminal.is_alternate


async def test_sending_a_message_or_command_scrolls_to_the_end(tmp_path: Path) -> None:
    app_fixture = fullscreen(tmp_path)
    async with app_fixture.running():
        app_fixture.send("list")
        await app_fixture.rests()
        app_fixture.type(PAGE_UP)
        await app_fixture.loses("item 59")
        app_fixture.send("!echo here it is")
        await app_fixture.sees("   here it is")
        app_fixture.send("again")
        await app_fixture.sees("Short.")


async def test_a_search_scrolls_to_the_match(tmp_path: Path) -> None:
    app_fixture = fullscreen(tmp_path)
    async with app_fixture.running():
        app_fixture.send("list")
        await app_fixture.sees("item 59")
        app_fixture.type(CTRL_SHIFT_F)
        await app_fixture.sees("Search:")
        app_fixture.type("item 7")
        await app_fixture.sees("Search: item 7")
        await app_fixture.sees(" - item 7 ")
        app_fixture.type("\x1b")
        await app_fixture.loses("Search:")


async def test_a_mouse_click_moves_the_caret_in_the_editor(tmp_path: Path) -> None:
    app_fixture = fullscreen(tmp_path)
    async with app_fixture.running():
        app_fixture.type("draft")
        await app_fixture.sees("draft")
        row = app_fixture.screen.split("\n").index("draft") + 1
        app_fixture.type(f"\x1b[<0;3;{row}M\x1b[<0;3;{row}m")
        app_fixture.type("+")
        await app_fixture.sees("dr+aft")


async def test_the_transcript_is_printed_on_the_main_screen_at_exit(tmp_path: Path) -> None:
    app_fixture = fullscreen(tmp_path)
    async with app_fixture.running():
        app_fixture.send("list")
        await app_fixture.sees("item 59")
    assert not app_fixture.terminal.is_alternate
    assert "item 0\n" in app_fixture.tape
    assert "item 59" in app_fixture.tape


async def test_the_transcript_is_not_printed_at_exit_with_the_resume_hint_setting(
    tmp_path: Path,
) -> None:
    app_fixture = fullscreen(tmp_path, fullscreenExitOutput="resume-hint")
    async with app_fixture.running():
        app_fixture.send("list")
        await app_fixture.sees("item 59")
    assert "item" not in app_fixture.tape


async def test_the_visible_rows_are_unchanged_when_tool_output_is_expanded(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, calls("bash", command="seq 100 140"), says(LINES), rows=20)
    app_fixture.fixture.write(".pi/agent/settings.json", '{"tuiMode": "fullscreen"}')
    async with app_fixture.running():
        await app_fixture.asks("list", "item 59")
        app_fixture.type(PAGE_UP)
        await app_fixture.loses("item 59")
        await app_fixture.quiet()
        before = items(app_fixture)
        app_fixture.type("\x0f")
        await app_fixture.quiet()
        assert items(app_fixture) == before
        app_fixture.type(HOME)
        await app_fixture.sees("   100")

from __future__ import annotations

import re
from pathlib import Path

from pi.testing import calls, says
from tests.modes.interactive.theatre import Theatre
from tests.screens.snapshots import check

PAGE_UP, HOME, END, CTRL_UP = "\x1b[5~", "\x1b[H", "\x1b[F", "\x1b[1;5A"
CTRL_SHIFT_F = "\x1b[102;6u"
LINES = "\n".join(f"- item {number}" for number in range(60))


def fullscreen(tmp_path: Path, **settings: str) -> Theatre:
    theatre = Theatre(tmp_path, says(LINES), says("Short."), rows=20)
    more = "".join(f', "{name}": "{value}"' for name, value in settings.items())
    theatre.stage.write(".pi/agent/settings.json", f'{{"tuiMode": "fullscreen"{more}}}')
    return theatre


def items(theatre: Theatre) -> list[str]:
    """The rows of the list that are on the screen."""
    return re.findall(r"item \d+", theatre.screen)


async def test_the_transcript_scrolls_above_the_editor(tmp_path: Path) -> None:
    theatre = fullscreen(tmp_path)
    async with theatre.playing():
        await theatre.asks("list", "item 59")
        check("fullscreen", theatre.screen)
        theatre.type(PAGE_UP)
        await theatre.loses("item 59")
        theatre.type("still typing")
        await theatre.sees("still typing")
        assert "item 59" not in theatre.screen
        theatre.type(END)
        await theatre.sees("item 59")
        theatre.type(CTRL_UP)
        await theatre.sees("▌ list")
        assert theatre.terminal.is_alternate


async def test_who_says_something_sees_the_end_again(tmp_path: Path) -> None:
    theatre = fullscreen(tmp_path)
    async with theatre.playing():
        theatre.send("list")
        await theatre.rests()
        theatre.type(PAGE_UP)
        await theatre.loses("item 59")
        theatre.send("!echo here it is")
        await theatre.sees("   here it is")
        theatre.send("again")
        await theatre.sees("Short.")


async def test_a_search_goes_to_what_is_looked_for(tmp_path: Path) -> None:
    theatre = fullscreen(tmp_path)
    async with theatre.playing():
        theatre.send("list")
        await theatre.sees("item 59")
        theatre.type(CTRL_SHIFT_F)
        await theatre.sees("Search:")
        theatre.type("item 7")
        await theatre.sees("Search: item 7")
        await theatre.sees(" - item 7 ")
        theatre.type("\x1b")
        await theatre.loses("Search:")


async def test_the_mouse_puts_the_caret_into_the_editor(tmp_path: Path) -> None:
    theatre = fullscreen(tmp_path)
    async with theatre.playing():
        theatre.type("draft")
        await theatre.sees("draft")
        row = theatre.screen.split("\n").index("draft") + 1
        theatre.type(f"\x1b[<0;3;{row}M\x1b[<0;3;{row}m")
        theatre.type("+")
        await theatre.sees("dr+aft")


async def test_the_transcript_is_on_the_main_screen_afterwards(tmp_path: Path) -> None:
    theatre = fullscreen(tmp_path)
    async with theatre.playing():
        theatre.send("list")
        await theatre.sees("item 59")
    assert not theatre.terminal.is_alternate
    assert "item 0\n" in theatre.tape
    assert "item 59" in theatre.tape


async def test_only_a_hint_is_left_for_who_wants_that(tmp_path: Path) -> None:
    theatre = fullscreen(tmp_path, fullscreenExitOutput="resume-hint")
    async with theatre.playing():
        theatre.send("list")
        await theatre.sees("item 59")
    assert "item" not in theatre.tape


async def test_a_reader_keeps_their_place_when_everything_is_unfolded(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, calls("bash", command="seq 100 140"), says(LINES), rows=20)
    theatre.stage.write(".pi/agent/settings.json", '{"tuiMode": "fullscreen"}')
    async with theatre.playing():
        await theatre.asks("list", "item 59")
        theatre.type(PAGE_UP)
        await theatre.loses("item 59")
        await theatre.quiet()
        before = items(theatre)
        theatre.type("\x0f")
        await theatre.quiet()
        assert items(theatre) == before
        theatre.type(HOME)
        await theatre.sees("   100")

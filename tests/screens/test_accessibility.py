"""The screen for screen readers, and without motion."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pi.testing import calls, says
from tests.cli.program import Program
from tests.modes.interactive.theatre import Theatre
from tests.screens.person import TOUR, needs_pty, person

MOVES = re.compile(r"\x1b\[[\d;]*[ABCDEFGHJKLMPSTXf@]")
"""Sequences that move the cursor or erase."""
CTRL_R = "\x12"


def reading(tmp_path: Path, *steps: object, **options: object) -> Theatre:
    theatre = Theatre(tmp_path, *steps, **options)  # type: ignore[arg-type]
    theatre.stage.write(".pi/agent/settings.json", '{"tui": {"screenReader": true}}')
    return theatre


async def test_a_screen_reader_gets_plain_lines_and_nothing_twice(tmp_path: Path) -> None:
    theatre = reading(
        tmp_path, calls("bash", command="echo hello"), says("First part.\n\nSecond part.")
    )
    async with theatre.playing():
        theatre.type("what is here?")
        await theatre.sees("> what is here?")
        theatre.type("\r")
        await theatre.sees("Second part.")
        await theatre.rests()
        tape = theatre.tape
        assert not MOVES.search(theatre.written)
        for text in ("echo hello", "First part.", "Second part."):
            assert tape.count(text) == 1, tape
        assert not re.search("[\u2500-\u259f\u2800-\u28ff]", tape)
        assert tape.index("First part.") < tape.index("Second part.")


async def test_a_screen_reader_follows_what_is_typed(tmp_path: Path) -> None:
    theatre = reading(tmp_path)
    async with theatre.playing():
        theatre.type("ac")
        await theatre.sees("> ac")
        theatre.type("\x1b[D")
        theatre.type("b")
        await theatre.sees("> abc")
        theatre.type("\x05\x7f\x7f")
        await theatre.until(lambda: theatre.screen.endswith("> a"))
        assert not MOVES.search(theatre.written)


async def test_a_screen_reader_hears_a_dialog_and_what_is_selected(tmp_path: Path) -> None:
    theatre = reading(tmp_path, says("One."), says("Two."))
    async with theatre.playing():
        await theatre.asks("first prompt", "One.")
        await theatre.asks("second prompt", "Two.")
        theatre.type(CTRL_R)
        await theatre.sees("Search earlier prompts")
        await theatre.sees("second prompt (selected)")
        theatre.type(CTRL_R)
        await theatre.sees("first prompt (selected)")
        await theatre.quiet()
        assert theatre.tape.count("Search earlier prompts") == 1
        theatre.type("\r")
        await theatre.until(lambda: theatre.screen.endswith("> first prompt"))
        assert not MOVES.search(theatre.written)


async def test_work_is_named_once_and_not_counted(tmp_path: Path) -> None:
    theatre = reading(tmp_path, calls("bash", command="cat gate"), says("Done."))
    gate = theatre.gate()
    async with theatre.playing():
        theatre.send("go")
        await theatre.sees("Running bash")
        for _ in range(5):
            await theatre.clock.advance(1.0)
        await theatre.quiet()
        assert theatre.tape.count("Running bash") == 1
        await gate.open()
        await theatre.sees("Done.")


async def test_nothing_moves_with_reduced_motion(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, calls("bash", command="cat gate"), says("Done."))
    theatre.stage.write(".pi/agent/settings.json", '{"tui": {"reducedMotion": true}}')
    gate = theatre.gate()
    async with theatre.playing():
        theatre.send("go")
        await theatre.sees("Running bash")
        await theatre.clock.advance(0.5)
        await theatre.quiet()
        assert not re.search("[\u2800-\u28ff]", theatre.written)
        await theatre.clock.advance(2.0)
        await theatre.sees("Running bash · 2s")
        await gate.open()
        await theatre.sees("Done.")


@needs_pty
@pytest.mark.parametrize(
    ("words", "variables"), [(("--screen-reader",), {}), ((), {"PI_SCREEN_READER": "1"})]
)
def test_an_option_or_a_variable_asks_for_plain_lines(
    tmp_path: Path, words: tuple[str, ...], variables: dict[str, str]
) -> None:
    cli = Program.below(tmp_path, **variables)
    with person(cli, *TOUR, *words) as ada:
        ada.until(lambda: ada.screen.rstrip().endswith(">"))
        ada.types("hello\r")
        ada.sees("That was the tour")
        ada.until(lambda: ada.screen.rstrip().endswith(">"))
        assert not re.search("[\u2500-\u259f\u2800-\u28ff]", ada.tape)
        assert ada.tape.count("This is a guided tour") == 1
        assert ada.leaves() == 0

"""The screen for screen readers, and without motion."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pi.testing import calls, says
from tests.cli.program import Program
from tests.modes.interactive.app_fixture import AppFixture
from tests.sampling import sampled
from tests.screens.terminal_user import TOUR, needs_pty, terminal_user

MOVES = re.compile(r"\x1b\[[\d;]*[ABCDEFGHJKLMPSTXf@]")
"""Sequences that move the cursor or erase."""
CTRL_R = "\x12"


def reading(tmp_path: Path, *steps: object, **options: object) -> AppFixture:
    app_fixture = AppFixture(tmp_path, *steps, **options)  # type: ignore[arg-type]
    app_fixture.fixture.write(".pi/agent/settings.json", '{"tui": {"screenReader": true}}')
    return app_fixture


async def test_screen_reader_mode_writes_plain_lines_and_no_text_twice(tmp_path: Path) -> None:
    app_fixture = reading(
        tmp_path, calls("bash", command="echo hello"), says("First part.\n\nSecond part.")
    )
    async with app_fixture.running():
        app_fixture.type("what is here?")
        await app_fixture.sees("> what is here?")
        app_fixture.type("\r")
        await app_fixture.sees("Second part.")
        await app_fixture.rests()
        tape = app_fixture.tape
        assert not MOVES.search(app_fixture.written)
        for text in ("echo hello", "First part.", "Second part."):
            assert tape.count(text) == 1, tape
        assert not re.search("[\u2500-\u259f\u2800-\u28ff]", tape)
        assert tape.index("First part.") < tape.index("Second part.")


async def test_screen_reader_mode_shows_typed_text_without_cursor_movement(tmp_path: Path) -> None:
    app_fixture = reading(tmp_path)
    async with app_fixture.running():
        app_fixture.type("ac")
        await app_fixture.sees("> ac")
        app_fixture.type("\x1b[D")
        app_fixture.type("b")
        await app_fixture.sees("> abc")
        app_fixture.type("\x05\x7f\x7f")
        await app_fixture.until(lambda: app_fixture.screen.endswith("> a"))
        assert not MOVES.search(app_fixture.written)


async def test_screen_reader_mode_writes_a_dialog_and_its_selected_item(tmp_path: Path) -> None:
    app_fixture = reading(tmp_path, says("One."), says("Two."))
    async with app_fixture.running():
        await app_fixture.asks("first prompt", "One.")
        await app_fixture.asks("second prompt", "Two.")
        app_fixture.type(CTRL_R)
        await app_fixture.sees("Search earlier prompts")
        await app_fixture.sees("second prompt (selected)")
        app_fixture.type(CTRL_R)
        await app_fixture.sees("first prompt (selected)")
        await app_fixture.quiet()
        assert app_fixture.tape.count("Search earlier prompts") == 1
        app_fixture.type("\r")
        await app_fixture.until(lambda: app_fixture.screen.endswith("> first prompt"))
        assert not MOVES.search(app_fixture.written)


async def test_screen_reader_mode_reports_activity_once_without_a_timer(tmp_path: Path) -> None:
    app_fixture = reading(tmp_path, calls("bash", command="cat gate"), says("Done."))
    gate = app_fixture.gate()
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.sees("Running bash")
        for _ in range(5):
            await app_fixture.clock.advance(1.0)
        await app_fixture.quiet()
        assert app_fixture.tape.count("Running bash") == 1
        await gate.open()
        await app_fixture.sees("Done.")


async def test_reduced_motion_disables_the_spinner(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, calls("bash", command="cat gate"), says("Done."))
    app_fixture.fixture.write(".pi/agent/settings.json", '{"tui": {"reducedMotion": true}}')
    gate = app_fixture.gate()
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.sees("Running bash")
        await app_fixture.clock.advance(0.5)
        await app_fixture.quiet()
        assert not re.search("[\u2800-\u28ff]", app_fixture.written)
        await app_fixture.clock.advance(2.0)
        await app_fixture.sees("Running bash · 2s")
        await gate.open()
        await app_fixture.sees("Done.")


@needs_pty
@pytest.mark.parametrize(
    ("words", "variables"),
    sampled([(("--screen-reader",), {}), ((), {"PI_SCREEN_READER": "1"})], keep=1),
)
def test_screen_reader_mode_is_enabled_by_an_option_or_a_variable(
    tmp_path: Path, words: tuple[str, ...], variables: dict[str, str]
) -> None:
    cli = Program.below(tmp_path, **variables)
    with terminal_user(cli, *TOUR, *words) as ada:
        ada.until(lambda: ada.screen.rstrip().endswith(">"))
        ada.types("hello\r")
        ada.sees("That was the tour")
        ada.until(lambda: ada.screen.rstrip().endswith(">"))
        assert not re.search("[\u2500-\u259f\u2800-\u28ff]", ada.tape)
        assert ada.tape.count("This is a guided tour") == 1
        assert ada.leaves() == 0

from __future__ import annotations

from pathlib import Path

import pytest

from pi.base.errors import PiError
from pi.modes.interactive.startup import OpenContext
from tests.modes.interactive.theatre import Theatre


async def test_one_can_leave_before_the_session_is_there(tmp_path: Path) -> None:
    for key in ("\x04", "\x03"):
        theatre = Theatre(tmp_path)
        theatre.held_back()
        async with theatre.starting():
            theatre.type("x")
            theatre.type("\x7f")
            await theatre.sees("loading…")
            theatre.type(key)
            theatre.type(key)
            await theatre.until(lambda theatre=theatre: theatre.app.has_ended)  # type: ignore[misc]
        assert theatre.hint == ""


async def test_something_unexpected_is_reported_with_the_place_of_the_log(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)

    async def broken() -> None:
        raise ZeroDivisionError("by design")

    theatre.begin = broken
    async with theatre.starting():
        await theatre.sees("opening the session failed: ZeroDivisionError('by design')")
        await theatre.sees("pi.log.")
    log = (theatre.stage.agent_dir / "pi.log").read_text()
    assert "Traceback" in log


@pytest.mark.parametrize("problem", [PiError("No such session."), ZeroDivisionError("a bug")])
async def test_without_a_session_the_application_ends_and_keeps_what_was_typed(
    tmp_path: Path, problem: Exception
) -> None:
    theatre = Theatre(tmp_path)

    async def refused(opening: OpenContext) -> None:
        theatre.type("for")
        theatre.send(" later")
        theatre.type("and more")
        raise problem

    theatre.before_open = refused
    with pytest.raises(type(problem), match=str(problem)):
        async with theatre.starting():
            await theatre.until(lambda: theatre.app.has_ended)

    again = Theatre(tmp_path / "again")
    again.stage = theatre.stage
    async with again.playing():
        await again.sees("for later\n\nand more")

from __future__ import annotations

from pathlib import Path

import pytest

from pi.base.errors import PiError
from pi.modes.interactive.startup import OpenContext
from tests.modes.interactive.app_fixture import AppFixture


async def test_the_application_can_be_quit_before_the_session_is_open(tmp_path: Path) -> None:
    for key in ("\x04", "\x03"):
        app_fixture = AppFixture(tmp_path)
        app_fixture.held_back()
        async with app_fixture.starting():
            app_fixture.type("x")
            app_fixture.type("\x7f")
            await app_fixture.sees("loading…")
            app_fixture.type(key)
            app_fixture.type(key)
            await app_fixture.until(lambda app_fixture=app_fixture: app_fixture.app.has_ended)  # type: ignore[misc]
        assert app_fixture.hint == ""


async def test_an_unexpected_exception_is_reported_with_the_path_of_the_log(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)

    async def broken() -> None:
        raise ZeroDivisionError("by design")

    app_fixture.begin = broken
    async with app_fixture.starting():
        await app_fixture.sees("opening the session failed: ZeroDivisionError('by design')")
        await app_fixture.sees("pi.log.")
    log = (app_fixture.fixture.agent_dir / "pi.log").read_text()
    assert "Traceback" in log


@pytest.mark.parametrize("problem", [PiError("No such session."), ZeroDivisionError("a bug")])
async def test_if_the_session_cannot_be_opened_the_application_ends_and_keeps_the_draft(
    tmp_path: Path, problem: Exception
) -> None:
    app_fixture = AppFixture(tmp_path)

    async def refused(opening: OpenContext) -> None:
        app_fixture.type("for")
        app_fixture.send(" later")
        app_fixture.type("and more")
        raise problem

    app_fixture.before_open = refused
    with pytest.raises(type(problem), match=str(problem)):
        async with app_fixture.starting():
            await app_fixture.until(lambda: app_fixture.app.has_ended)

    again = AppFixture(tmp_path / "again")
    again.fixture = app_fixture.fixture
    async with again.running():
        await again.sees("for later\n\nand more")

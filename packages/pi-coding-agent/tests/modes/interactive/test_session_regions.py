from __future__ import annotations

from pathlib import Path

import pytest

from pi.testing import calls, says
from tests.modes.interactive.app_fixture import AppFixture

ALT_ENTER = "\x1b[13;3u"


async def test_settings_are_followed_when_they_change(tmp_path: Path) -> None:
    async with AppFixture(tmp_path, says("Yes.")).running() as app_fixture:
        assert app_fixture.session is not None
        app_fixture.send("hello")
        await app_fixture.sees("\n Yes.")
        app_fixture.session.settings.set({"outputPad": 0, "editorPaddingX": 2})
        app_fixture.type("x")
        await app_fixture.sees("\n  x")


async def test_another_session_is_shown_after_a_switch(tmp_path: Path) -> None:
    async with AppFixture(tmp_path, says("Yes.")).running() as app_fixture:
        assert app_fixture.session is not None
        assert app_fixture.commands is not None
        app_fixture.send("hello")
        await app_fixture.sees("Yes.")
        await app_fixture.rests()
        await app_fixture.session.sessions.new()
        await app_fixture.until(lambda: "Yes." not in app_fixture.tape)
        await app_fixture.sees("~/project")


@pytest.mark.behaviour("drafts-are-kept")
async def test_queued_messages_are_restored_in_the_editor_after_a_session_switch(
    tmp_path: Path,
) -> None:
    app_fixture = AppFixture(tmp_path, calls("bash", command="cat gate"))
    app_fixture.gate()
    async with app_fixture.running():
        assert app_fixture.session is not None
        app_fixture.send("go")
        await app_fixture.sees("Running bash")
        app_fixture.send("first this")
        app_fixture.type("then that")
        app_fixture.type(ALT_ENTER)
        await app_fixture.sees("Follow-up: then that")
        app_fixture.type("half a thought")
        await app_fixture.session.sessions.new()
        await app_fixture.sees("\nfirst this\n\nthen that\n\nhalf a thought\n")
        assert "Steering:" not in app_fixture.screen


async def test_earlier_prompts_are_recalled_with_up(tmp_path: Path) -> None:
    async with AppFixture(tmp_path, says("Yes.")).running() as app_fixture:
        app_fixture.send("what I said")
        await app_fixture.sees("Yes.")
        app_fixture.type("\x1b[A")
        await app_fixture.until(lambda: "\nwhat I said\n" in app_fixture.screen)

from __future__ import annotations

from pathlib import Path

import pytest

from pi.testing import calls, says
from tests.modes.interactive.theatre import Theatre

ALT_ENTER = "\x1b[13;3u"


async def test_settings_are_followed_when_they_change(tmp_path: Path) -> None:
    async with Theatre(tmp_path, says("Yes.")).playing() as theatre:
        assert theatre.session is not None
        theatre.send("hello")
        await theatre.sees("\n Yes.")
        theatre.session.settings.set({"outputPad": 0, "editorPaddingX": 2})
        theatre.type("x")
        await theatre.sees("\n  x")


async def test_another_session_is_shown_after_a_switch(tmp_path: Path) -> None:
    async with Theatre(tmp_path, says("Yes.")).playing() as theatre:
        assert theatre.session is not None
        assert theatre.commands is not None
        theatre.send("hello")
        await theatre.sees("Yes.")
        await theatre.rests()
        await theatre.session.sessions.new()
        await theatre.until(lambda: "Yes." not in theatre.tape)
        await theatre.sees("~/project")


@pytest.mark.behaviour("drafts-are-kept")
async def test_what_was_queued_is_the_persons_again_in_another_session(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, calls("bash", command="cat gate"))
    theatre.gate()
    async with theatre.playing():
        assert theatre.session is not None
        theatre.send("go")
        await theatre.sees("Running bash")
        theatre.send("first this")
        theatre.type("then that")
        theatre.type(ALT_ENTER)
        await theatre.sees("Follow-up: then that")
        theatre.type("half a thought")
        await theatre.session.sessions.new()
        await theatre.sees("\nfirst this\n\nthen that\n\nhalf a thought\n")
        assert "Steering:" not in theatre.screen


async def test_prompts_of_before_are_found_with_up(tmp_path: Path) -> None:
    async with Theatre(tmp_path, says("Yes.")).playing() as theatre:
        theatre.send("what I said")
        await theatre.sees("Yes.")
        theatre.type("\x1b[A")
        await theatre.until(lambda: "\nwhat I said\n" in theatre.screen)

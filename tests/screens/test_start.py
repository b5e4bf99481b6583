from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.base.errors import PiError
from pi.coding.trust import TrustChoice
from pi.modes.interactive.composer.prompt import PAUSE_SECONDS
from pi.modes.interactive.dialogs.opening import TITLE, ask_trust
from pi.modes.interactive.startup import OpenContext
from pi.modes.interactive.ui import Ui
from pi.testing import says
from tests.modes.interactive.theatre import Theatre
from tests.screens.snapshots import check


async def test_the_first_frame_has_an_editor_before_the_session_is_there(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    opened = theatre.held_back()
    async with theatre.starting():
        await theatre.sees("loading…")
        check("first-frame", theatre.screen)
        opened.set()
        await theatre.sees("(faux) faux • medium")


@pytest.mark.behaviour("early-keys-are-kept")
async def test_a_command_sent_while_the_session_opens_is_run_and_shown(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    gate = theatre.gate()
    opened = theatre.held_back()
    async with theatre.starting():
        theatre.send("!!cat gate")
        await theatre.sees("Waiting: !!cat gate")
        await theatre.quiet()
        opened.set()
        await theatre.sees("\n !! cat gate")
        await gate.open("it ran")
        await theatre.sees("   it ran")


@pytest.mark.behaviour("early-keys-are-kept")
async def test_keys_typed_before_the_session_is_there_are_kept(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, says("Hello to you."))
    opened = theatre.held_back()
    async with theatre.starting():
        theatre.send("hello")
        theatre.type("and more")
        await theatre.sees("Waiting: hello")
        opened.set()
        await theatre.sees("Hello to you.")
        await theatre.sees("▌ hello")
        await theatre.sees("\nand more")


@pytest.mark.behaviour("early-keys-are-kept")
async def test_keys_of_a_message_do_not_answer_whether_a_project_is_trusted(
    tmp_path: Path,
) -> None:
    theatre = Theatre(tmp_path, says("Hello to you."))
    folder = Path("/somewhere/project")
    answers: list[TrustChoice | None] = []
    is_writing = asyncio.Event()

    async def ask(opening: OpenContext) -> None:
        await is_writing.wait()
        answers.append(await opening.ask_trust(folder, ()))

    theatre.before_open, theatre.ask_trust = ask, ask_trust
    async with theatre.starting():
        theatre.type("hel")
        await theatre.sees("hel")
        is_writing.set()
        await theatre.quiet()
        theatre.send("lo")
        theatre.type("and more")
        await theatre.sees("Waiting: hello")
        assert (TITLE in theatre.screen, answers) == (False, [])
        await theatre.clock.advance(PAUSE_SECONDS)
        await theatre.sees(TITLE)
        theatre.type("\r")
        await theatre.sees("Hello to you.")
        await theatre.sees("\nand more")
    assert answers == [TrustChoice(trusted=True, directory=folder, remember=True)]


@pytest.mark.behaviour("early-keys-are-kept")
async def test_type_ahead_does_not_trust_a_project(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, says("Hello to you."))
    folder = Path("/somewhere/project")
    answers: list[TrustChoice | None] = []

    async def ask(opening: OpenContext) -> None:
        answers.append(await opening.ask_trust(folder, ()))

    theatre.before_open, theatre.ask_trust = ask, ask_trust
    async with theatre.starting():
        await theatre.sees(TITLE)
        theatre.send("hello")
        theatre.type("and more")
        await theatre.quiet()
        check("trust", theatre.screen)
        assert answers == []
        await theatre.clock.advance(PAUSE_SECONDS)
        theatre.type("\x1b[B")
        theatre.type("\x1b[B")
        theatre.type("\r")
        await theatre.sees("Hello to you.")
        await theatre.sees("\nand more")
    assert answers == [TrustChoice(trusted=True, directory=folder, remember=False)]


async def test_what_was_loaded_is_reported_in_a_line(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    theatre.lines = ("pi 1.0 · AGENTS.md · 2 skills",)
    async with theatre.playing():
        await theatre.sees("pi 1.0 · AGENTS.md · 2 skills")


async def test_a_quiet_start_shows_nothing(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    theatre.stage.write(".pi/agent/settings.json", '{"quietStartup": true}')
    theatre.lines = ("pi 1.0",)
    async with theatre.playing():
        await theatre.sees("(faux) faux")
        assert "pi 1.0" not in theatre.tape


async def test_messages_of_the_command_line_are_sent_at_once(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, says("The first answer."))
    theatre.messages = (("say something", ()),)
    async with theatre.playing():
        await theatre.sees("The first answer.")


async def test_invalid_key_bindings_are_reported(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    theatre.stage.write(".pi/agent/keybindings.json", '{"app.exit": "hyper+q"}')
    async with theatre.playing():
        await theatre.sees('names the key "hyper+q"')


async def test_a_session_that_cannot_be_opened_ends_the_application(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, model="unknown/nothing")
    with pytest.raises(PiError, match="unknown/nothing"):
        async with theatre.starting():
            await theatre.until(lambda: theatre.app.has_ended)


async def test_the_window_is_named_by_the_folder_and_the_session(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    async with theatre.playing():
        await theatre.until(lambda: theatre.terminal.title == "π - project")
        assert theatre.session is not None
        await theatre.session.facts.rename("Tidy up")
        await theatre.until(lambda: theatre.terminal.title == "π - Tidy up - project")
        await theatre.sees("~/project • Tidy up")


async def test_the_end_shows_how_to_come_back(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    async with theatre.playing():
        pass
    assert theatre.hint == "To resume this session: pi --session x"
    assert theatre.terminal.cursor_is_visible


@pytest.mark.behaviour("keyboard-protocol-from-replies")
async def test_the_keyboard_is_spoken_to_as_the_terminal_answers(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, replies=False)
    async with theatre.playing():
        written = "".join(theatre.terminal.output)
        assert written.startswith("\x1b[?2004h\x1b[>7u\x1b[?u\x1b[c")
        assert "\x1b[>4;2m" not in written
        theatre.type("\x1b[?62c")
        await theatre.until(lambda: "\x1b[>4;2m" in theatre.terminal.output)
        theatre.type("\x1b[?7u")
        await theatre.until(lambda: "\x1b[>4;0m" in theatre.terminal.output)
        assert theatre.screen.count("─" * 80) == 2


async def test_a_welcome_that_fails_is_reported_and_the_session_goes_on(tmp_path: Path) -> None:
    async def welcome(ui: Ui) -> None:
        raise PiError("No one answers.", hint="Try again later.")

    async def news() -> str:
        return "There is a newer version."

    theatre = Theatre(tmp_path, says("Hello to you."))
    theatre.welcome, theatre.news = welcome, news
    async with theatre.playing():
        await theatre.sees("! No one answers.")
        await theatre.sees("There is a newer version.")
        theatre.send("hello")
        await theatre.sees("Hello to you.")

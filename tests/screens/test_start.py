from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.base.errors import PiError
from pi.coding.trust import TrustChoice
from pi.modes.interactive.composer.prompt import PAUSE_SECONDS
from pi.modes.interactive.dialogs.project_trust import TITLE, ask_trust
from pi.modes.interactive.startup import OpenContext
from pi.modes.interactive.ui import Ui
from pi.testing import says
from tests.modes.interactive.app_fixture import AppFixture
from tests.screens.snapshots import check


async def test_the_first_frame_shows_the_editor_before_the_session_is_open(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    opened = app_fixture.held_back()
    async with app_fixture.starting():
        await app_fixture.sees("loading…")
        check("first-frame", app_fixture.screen)
        opened.set()
        await app_fixture.sees("(faux) faux • medium")


@pytest.mark.behaviour("early-keys-are-kept")
async def test_a_command_sent_while_the_session_opens_is_run_and_shown(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    gate = app_fixture.gate()
    opened = app_fixture.held_back()
    async with app_fixture.starting():
        app_fixture.send("!!cat gate")
        await app_fixture.sees("Waiting: !!cat gate")
        await app_fixture.quiet()
        opened.set()
        await app_fixture.sees("\n !! cat gate")
        await gate.open("it ran")
        await app_fixture.sees("   it ran")


@pytest.mark.behaviour("early-keys-are-kept")
async def test_keys_typed_before_the_session_is_open_are_kept(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, says("Hello to you."))
    opened = app_fixture.held_back()
    async with app_fixture.starting():
        app_fixture.send("hello")
        app_fixture.type("and more")
        await app_fixture.sees("Waiting: hello")
        opened.set()
        await app_fixture.sees("Hello to you.")
        await app_fixture.sees("▌ hello")
        await app_fixture.sees("\nand more")


@pytest.mark.behaviour("early-keys-are-kept")
async def test_the_trust_dialog_waits_until_the_user_stops_typing(
    tmp_path: Path,
) -> None:
    app_fixture = AppFixture(tmp_path, says("Hello to you."))
    folder = Path("/somewhere/project")
    answers: list[TrustChoice | None] = []
    is_writing = asyncio.Event()

    async def ask(opening: OpenContext) -> None:
        await is_writing.wait()
        answers.append(await opening.ask_trust(folder, ()))

    app_fixture.before_open, app_fixture.ask_trust = ask, ask_trust
    async with app_fixture.starting():
        app_fixture.type("hel")
        await app_fixture.sees("hel")
        is_writing.set()
        await app_fixture.quiet()
        app_fixture.send("lo")
        app_fixture.type("and more")
        await app_fixture.sees("Waiting: hello")
        assert (TITLE in app_fixture.screen, answers) == (False, [])
        await app_fixture.clock.advance(PAUSE_SECONDS)
        await app_fixture.sees(TITLE)
        app_fixture.type("\r")
        await app_fixture.sees("Hello to you.")
        await app_fixture.sees("\nand more")
    assert answers == [TrustChoice(trusted=True, directory=folder, remember=True)]


@pytest.mark.behaviour("early-keys-are-kept")
async def test_type_ahead_does_not_trust_a_project(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, says("Hello to you."))
    folder = Path("/somewhere/project")
    answers: list[TrustChoice | None] = []

    async def ask(opening: OpenContext) -> None:
        answers.append(await opening.ask_trust(folder, ()))

    app_fixture.before_open, app_fixture.ask_trust = ask, ask_trust
    async with app_fixture.starting():
        await app_fixture.sees(TITLE)
        app_fixture.send("hello")
        app_fixture.type("and more")
        await app_fixture.quiet()
        check("trust", app_fixture.screen)
        assert answers == []
        await app_fixture.clock.advance(PAUSE_SECONDS)
        app_fixture.type("\x1b[B")
        app_fixture.type("\x1b[B")
        app_fixture.type("\r")
        await app_fixture.sees("Hello to you.")
        await app_fixture.sees("\nand more")
    assert answers == [TrustChoice(trusted=True, directory=folder, remember=False)]


async def test_loaded_resources_are_reported_in_a_line(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    app_fixture.lines = ("pi 1.0 · AGENTS.md · 2 skills",)
    async with app_fixture.running():
        await app_fixture.sees("pi 1.0 · AGENTS.md · 2 skills")


async def test_a_quiet_start_hides_the_startup_lines(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    app_fixture.fixture.write(".pi/agent/settings.json", '{"quietStartup": true}')
    app_fixture.lines = ("pi 1.0",)
    async with app_fixture.running():
        await app_fixture.sees("(faux) faux")
        assert "pi 1.0" not in app_fixture.tape


async def test_messages_of_the_command_line_are_sent_at_once(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, says("The first answer."))
    app_fixture.messages = (("say something", ()),)
    async with app_fixture.running():
        await app_fixture.sees("The first answer.")


async def test_invalid_key_bindings_are_reported(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    app_fixture.fixture.write(".pi/agent/keybindings.json", '{"app.exit": "hyper+q"}')
    async with app_fixture.running():
        await app_fixture.sees('names the key "hyper+q"')


async def test_a_session_that_cannot_be_opened_ends_the_application(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, model="unknown/nothing")
    with pytest.raises(PiError, match="unknown/nothing"):
        async with app_fixture.starting():
            await app_fixture.until(lambda: app_fixture.app.has_ended)


async def test_the_window_title_contains_the_folder_and_the_session_name(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.running():
        await app_fixture.until(lambda: app_fixture.terminal.title == "π - project")
        assert app_fixture.session is not None
        await app_fixture.session.info.rename("Tidy up")
        await app_fixture.until(lambda: app_fixture.terminal.title == "π - Tidy up - project")
        await app_fixture.sees("~/project • Tidy up")


async def test_the_exit_hint_shows_how_to_resume_the_session(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.running():
        pass
    assert app_fixture.hint == "To resume this session: pi --session x"
    assert app_fixture.terminal.cursor_is_visible


@pytest.mark.behaviour("keyboard-protocol-from-replies")
async def test_the_keyboard_protocol_follows_the_replies_of_the_terminal(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, replies=False)
    async with app_fixture.running():
        written = "".join(app_fixture.terminal.output)
        assert written.startswith("\x1b[?2004h\x1b[>7u\x1b[?u\x1b[c")
        assert "\x1b[>4;2m" not in written
        app_fixture.type("\x1b[?62c")
        await app_fixture.until(lambda: "\x1b[>4;2m" in app_fixture.terminal.output)
        app_fixture.type("\x1b[?7u")
        await app_fixture.until(lambda: "\x1b[>4;0m" in app_fixture.terminal.output)
        assert app_fixture.screen.count("─" * 80) == 2


async def test_a_failing_welcome_is_reported_and_the_session_continues(tmp_path: Path) -> None:
    async def welcome(ui: Ui) -> None:
        raise PiError("No one answers.", hint="Try again later.")

    async def news() -> str:
        return "There is a newer version."

    app_fixture = AppFixture(tmp_path, says("Hello to you."))
    app_fixture.welcome, app_fixture.news = welcome, news
    async with app_fixture.running():
        await app_fixture.sees("! No one answers.")
        await app_fixture.sees("There is a newer version.")
        app_fixture.send("hello")
        await app_fixture.sees("Hello to you.")

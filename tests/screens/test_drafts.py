from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.modes.interactive.app import DRAFT_SECONDS, SEEN_SECONDS, App
from pi.testing import calls, says
from tests.modes.interactive.app_fixture import AppFixture


@pytest.mark.behaviour("drafts-are-kept")
async def test_a_draft_is_restored_after_the_program_was_terminated(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    work = asyncio.ensure_future(App(app_fixture.start, app_fixture.terminal, strict=True).run())
    await app_fixture.until(lambda: app_fixture.commands is not None)
    app_fixture.type("a long thought")
    await app_fixture.sees("a long thought")
    work.cancel()  # as a signal does
    await asyncio.gather(work, return_exceptions=True)
    again = AppFixture(tmp_path)
    async with again.running():
        await again.sees("\na long thought\n")
        await again.sees("Restored the draft of a session that ended unexpectedly.")


async def _leave_a_draft(tmp_path: Path, text: str) -> None:
    """Run the application and cancel it while its editor contains a text."""
    app_fixture = AppFixture(tmp_path)
    work = asyncio.ensure_future(App(app_fixture.start, app_fixture.terminal, strict=True).run())
    await app_fixture.until(lambda: app_fixture.commands is not None)
    app_fixture.type(text)
    await app_fixture.sees(text)
    work.cancel()  # as a signal does
    await asyncio.gather(work, return_exceptions=True)


@pytest.mark.behaviour("drafts-are-kept")
async def test_text_typed_during_the_start_is_not_appended_to_a_restored_draft(
    tmp_path: Path,
) -> None:
    await _leave_a_draft(tmp_path, "a long thought")
    app_fixture = AppFixture(tmp_path, says("Yes."))
    opened = app_fixture.held_back()
    async with app_fixture.starting():
        await app_fixture.sees("Restored the draft of a session that ended unexpectedly.")
        app_fixture.send("hello")
        await app_fixture.sees("Waiting: hello")
        assert "a long thought" not in app_fixture.screen
        opened.set()
        await app_fixture.sees("▌ hello")
        await app_fixture.sees("Yes.")
        app_fixture.type("\x1b[A\x1b[A")
        await app_fixture.sees("\na long thought\n")


async def test_text_typed_after_a_restored_draft_was_visible_continues_it(tmp_path: Path) -> None:
    await _leave_a_draft(tmp_path, "a long thought")
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.running():
        await app_fixture.sees("a long thought")
        await app_fixture.clock.advance(SEEN_SECONDS)
        app_fixture.type(", continued")
        await app_fixture.sees("\na long thought, continued\n")


async def test_text_typed_before_a_draft_is_restored_is_kept_unchanged(tmp_path: Path) -> None:
    await _leave_a_draft(tmp_path, "a long thought")
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.starting():
        app_fixture.type("hello")
        await app_fixture.sees("Up shows it")
        await app_fixture.sees("\nhello\n")
        app_fixture.type("\x01\x1b[A")
        await app_fixture.sees("\na long thought\n")


async def test_a_draft_is_stored_while_typing_and_deleted_when_sent(
    tmp_path: Path,
) -> None:
    app_fixture = AppFixture(tmp_path, says("Yes."))
    drafts = app_fixture.fixture.agent_dir / "drafts"

    def kept() -> list[str]:
        return [path.read_text() for path in drafts.glob("*.txt")]

    async with app_fixture.running():
        app_fixture.type("half")
        await app_fixture.sees("half")
        await app_fixture.clock.advance(DRAFT_SECONDS)
        await app_fixture.until(lambda: kept() == ["half"])
        app_fixture.type("\r")
        await app_fixture.sees("Yes.")
        await app_fixture.clock.advance(DRAFT_SECONDS)
        await app_fixture.until(lambda: not list(drafts.glob("*.txt")))


@pytest.mark.behaviour("drafts-are-kept")
async def test_queued_messages_are_restored_after_the_program_was_terminated(
    tmp_path: Path,
) -> None:
    app_fixture = AppFixture(tmp_path, calls("bash", command="cat gate"), says("Never said."))
    app_fixture.gate()
    work = asyncio.ensure_future(App(app_fixture.start, app_fixture.terminal, strict=True).run())
    await app_fixture.until(lambda: app_fixture.commands is not None)
    app_fixture.send("go")
    await app_fixture.sees("Running bash")
    app_fixture.send("first this")
    await app_fixture.sees("Steering: first this")
    app_fixture.type("then that")
    await app_fixture.sees("then that")
    work.cancel()  # as a signal does
    await asyncio.gather(work, return_exceptions=True)
    async with AppFixture(tmp_path).running() as again:
        await again.sees("\nfirst this\n\nthen that\n")


@pytest.mark.behaviour("vanished-terminal-ends-cleanly")
async def test_a_draft_is_restored_after_the_terminal_was_closed(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    app = App(app_fixture.start, app_fixture.terminal, strict=True)
    work = asyncio.ensure_future(app.run())
    await app_fixture.until(lambda: app_fixture.commands is not None)
    app_fixture.type("a long thought")
    await app_fixture.sees("a long thought")
    app_fixture.terminal.vanish()
    await work
    async with AppFixture(tmp_path).running() as again:
        await again.sees("\na long thought\n")


async def test_no_draft_is_restored_after_a_normal_exit(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path)
    async with app_fixture.running():
        app_fixture.type("not wanted")
        await app_fixture.sees("not wanted")
    again = AppFixture(tmp_path)
    async with again.running():
        await again.sees("(faux) faux")
        await again.quiet()
        assert "not wanted" not in again.screen

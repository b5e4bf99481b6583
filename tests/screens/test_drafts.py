from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.modes.interactive.app import DRAFT_SECONDS, SEEN_SECONDS, App
from pi.testing import calls, says
from tests.modes.interactive.theatre import Theatre


@pytest.mark.behaviour("drafts-are-kept")
async def test_a_draft_survives_the_end_of_the_program(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    work = asyncio.ensure_future(App(theatre.start, theatre.terminal, strict=True).run())
    await theatre.until(lambda: theatre.commands is not None)
    theatre.type("a long thought")
    await theatre.sees("a long thought")
    work.cancel()  # as a signal does
    await asyncio.gather(work, return_exceptions=True)
    again = Theatre(tmp_path)
    async with again.playing():
        await again.sees("\na long thought\n")
        await again.sees("Restored the draft of a session that ended unexpectedly.")


async def _leave_a_draft(tmp_path: Path, text: str) -> None:
    """A program that is ended while a text is in its editor."""
    theatre = Theatre(tmp_path)
    work = asyncio.ensure_future(App(theatre.start, theatre.terminal, strict=True).run())
    await theatre.until(lambda: theatre.commands is not None)
    theatre.type(text)
    await theatre.sees(text)
    work.cancel()  # as a signal does
    await asyncio.gather(work, return_exceptions=True)


@pytest.mark.behaviour("drafts-are-kept")
async def test_text_typed_during_the_start_is_not_appended_to_a_restored_draft(
    tmp_path: Path,
) -> None:
    await _leave_a_draft(tmp_path, "a long thought")
    theatre = Theatre(tmp_path, says("Yes."))
    opened = theatre.held_back()
    async with theatre.starting():
        await theatre.sees("Restored the draft of a session that ended unexpectedly.")
        theatre.send("hello")
        await theatre.sees("Waiting: hello")
        assert "a long thought" not in theatre.screen
        opened.set()
        await theatre.sees("▌ hello")
        await theatre.sees("Yes.")
        theatre.type("\x1b[A\x1b[A")
        await theatre.sees("\na long thought\n")


async def test_a_draft_that_was_seen_is_continued(tmp_path: Path) -> None:
    await _leave_a_draft(tmp_path, "a long thought")
    theatre = Theatre(tmp_path)
    async with theatre.playing():
        await theatre.sees("a long thought")
        await theatre.clock.advance(SEEN_SECONDS)
        theatre.type(", continued")
        await theatre.sees("\na long thought, continued\n")


async def test_text_typed_before_the_draft_is_restored_stays_as_it_is(tmp_path: Path) -> None:
    await _leave_a_draft(tmp_path, "a long thought")
    theatre = Theatre(tmp_path)
    async with theatre.starting():
        theatre.type("hello")
        await theatre.sees("Up shows it")
        await theatre.sees("\nhello\n")
        theatre.type("\x01\x1b[A")
        await theatre.sees("\na long thought\n")


async def test_a_draft_is_on_disk_while_it_is_written_and_gone_when_it_is_sent(
    tmp_path: Path,
) -> None:
    theatre = Theatre(tmp_path, says("Yes."))
    drafts = theatre.stage.agent_dir / "drafts"

    def kept() -> list[str]:
        return [path.read_text() for path in drafts.glob("*.txt")]

    async with theatre.playing():
        theatre.type("half")
        await theatre.sees("half")
        await theatre.clock.advance(DRAFT_SECONDS)
        await theatre.until(lambda: kept() == ["half"])
        theatre.type("\r")
        await theatre.sees("Yes.")
        await theatre.clock.advance(DRAFT_SECONDS)
        await theatre.until(lambda: not list(drafts.glob("*.txt")))


@pytest.mark.behaviour("drafts-are-kept")
async def test_what_waits_to_be_delivered_survives_the_end_of_the_program(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, calls("bash", command="cat gate"), says("Never said."))
    theatre.gate()
    work = asyncio.ensure_future(App(theatre.start, theatre.terminal, strict=True).run())
    await theatre.until(lambda: theatre.commands is not None)
    theatre.send("go")
    await theatre.sees("Running bash")
    theatre.send("first this")
    await theatre.sees("Steering: first this")
    theatre.type("then that")
    await theatre.sees("then that")
    work.cancel()  # as a signal does
    await asyncio.gather(work, return_exceptions=True)
    async with Theatre(tmp_path).playing() as again:
        await again.sees("\nfirst this\n\nthen that\n")


@pytest.mark.behaviour("vanished-terminal-ends-cleanly")
async def test_a_draft_survives_the_end_of_the_terminal(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    app = App(theatre.start, theatre.terminal, strict=True)
    work = asyncio.ensure_future(app.run())
    await theatre.until(lambda: theatre.commands is not None)
    theatre.type("a long thought")
    await theatre.sees("a long thought")
    theatre.terminal.vanish()
    await work
    async with Theatre(tmp_path).playing() as again:
        await again.sees("\na long thought\n")


async def test_leaving_on_purpose_leaves_no_draft(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    async with theatre.playing():
        theatre.type("not wanted")
        await theatre.sees("not wanted")
    again = Theatre(tmp_path)
    async with again.playing():
        await again.sees("(faux) faux")
        await again.quiet()
        assert "not wanted" not in again.screen

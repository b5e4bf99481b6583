from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.agent.compaction.errors import CompactionFailed
from pi.ai.errors import ProviderUnavailable
from pi.testing import calls, says
from tests.modes.interactive.app_fixture import AppFixture


async def test_the_border_shows_the_activity_and_its_duration(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, calls("bash", command="cat gate"), says("Done."))
    gate = app_fixture.gate()
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.sees("Running bash · esc to interrupt ──")
        await app_fixture.clock.advance(65.5)
        await app_fixture.sees("Running bash · 1m 05s · esc to interrupt ──")
        await gate.open()
        await app_fixture.sees("Done.")
        await app_fixture.loses("esc to interrupt")


async def test_a_retry_counts_down(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, ProviderUnavailable("overloaded"), says("At last."))
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.sees("Retrying in 2s (attempt 1/3)")
        await app_fixture.clock.advance(1.0)
        await app_fixture.sees("Retrying in 1s (attempt 1/3)")
        await app_fixture.clock.advance(2.0)
        await app_fixture.sees("At last.")


async def test_escape_cancels_a_retry(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, ProviderUnavailable("overloaded"), says("Never."))
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.sees("Retrying in 2s")
        app_fixture.type("\x1b")
        await app_fixture.loses("Retrying")
        await app_fixture.rests()
        assert "Never." not in app_fixture.tape


async def test_escape_ends_the_run_even_if_the_wait_is_just_over(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, ProviderUnavailable("overloaded"), says("Never."))
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.sees("Retrying in 2s")
        assert app_fixture.session is not None
        app_fixture.session.retry._waiting = None
        app_fixture.type("\x1b")
        await app_fixture.loses("Retrying")
        await app_fixture.rests()
        assert "Never." not in app_fixture.tape


async def test_cancelling_a_retry_returns_queued_messages_to_the_editor(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, ProviderUnavailable("overloaded"), says("Never."))
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.sees("Retrying in 2s")
        app_fixture.send("and be quick")
        await app_fixture.sees("Steering: and be quick")
        app_fixture.type("half a thought")
        app_fixture.type("\x1b")
        await app_fixture.sees("\nand be quick\n\nhalf a thought\n")
        await app_fixture.rests()
        assert "Steering:" not in app_fixture.screen


@pytest.mark.parametrize("leaves", [True, False])
async def test_the_end_of_a_long_run_notifies_an_unfocused_window(
    tmp_path: Path, *, leaves: bool
) -> None:
    app_fixture = AppFixture(tmp_path, calls("bash", command="cat gate"), says("Done."))
    gate = app_fixture.gate()
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.sees("Running bash")
        if leaves:
            app_fixture.type("\x1b[O")
        await app_fixture.clock.advance(30)
        await gate.open()
        await app_fixture.sees("Done.")
        await app_fixture.rests()
        assert ("\x07" in app_fixture.terminal.output) is leaves


async def test_terminal_progress_is_shown_if_enabled(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, says("Done."))
    app_fixture.fixture.write(
        ".pi/agent/settings.json", '{"terminal": {"showTerminalProgress": true}}'
    )
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.sees("Done.")
        await app_fixture.until(lambda: "\x1b]9;4;0;0\x07" in app_fixture.terminal.output)
        assert "\x1b]9;4;3;0\x07" in app_fixture.terminal.output


async def test_exiting_during_a_run_ends_the_progress_and_resets_the_window_title(
    tmp_path: Path,
) -> None:
    app_fixture = AppFixture(tmp_path, calls("bash", command="cat gate"))
    app_fixture.gate()
    app_fixture.fixture.write(
        ".pi/agent/settings.json", '{"terminal": {"showTerminalProgress": true}}'
    )
    async with app_fixture.running():
        app_fixture.send("go")
        await app_fixture.sees("Running bash")
    assert "\x1b[?1004l\x1b]9;4;0;0\x07\x1b]0;π - project\x07" in app_fixture.written


@pytest.mark.behaviour("escape-stops-compaction")
async def test_escape_stops_a_compaction_that_waits_for_a_retry(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, says("a"), says("b"), ProviderUnavailable("overloaded"))
    async with app_fixture.running():
        assert app_fixture.session is not None
        app_fixture.session.settings.override({"compaction.keepRecentTokens": 1})
        for words in ("one", "two"):
            app_fixture.send(words)
            await app_fixture.rests()
        compaction = asyncio.ensure_future(app_fixture.session.compaction.compact())
        await app_fixture.sees("Compacting · Retrying in 2s (attempt 1/3)")
        app_fixture.type("\x1b")
        with pytest.raises(CompactionFailed, match="cancelled"):
            await compaction
        await app_fixture.loses("Compacting")


async def test_a_notice_that_a_model_is_loading_ends_with_the_answer(tmp_path: Path) -> None:
    app_fixture = AppFixture(tmp_path, says("Here."))
    async with app_fixture.running():
        assert app_fixture.commands is not None
        ui = app_fixture.commands.ui
        app_fixture.send("go")
        ui.notify("Loading SmolLM2…")
        await app_fixture.sees("Here.")
        await app_fixture.rests()
        assert "Loading" not in app_fixture.screen

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.agent.compaction.errors import CompactionFailed
from pi.ai.errors import ProviderUnavailable
from pi.testing import calls, says
from tests.modes.interactive.theatre import Theatre


async def test_the_border_shows_what_is_done_and_for_how_long(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, calls("bash", command="cat gate"), says("Done."))
    gate = theatre.gate()
    async with theatre.playing():
        theatre.send("go")
        await theatre.sees("Running bash · esc to interrupt ──")
        await theatre.clock.advance(65.5)
        await theatre.sees("Running bash · 1m 05s · esc to interrupt ──")
        await gate.open()
        await theatre.sees("Done.")
        await theatre.loses("esc to interrupt")


async def test_a_retry_counts_down(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, ProviderUnavailable("overloaded"), says("At last."))
    async with theatre.playing():
        theatre.send("go")
        await theatre.sees("Retrying in 2s (attempt 1/3)")
        await theatre.clock.advance(1.0)
        await theatre.sees("Retrying in 1s (attempt 1/3)")
        await theatre.clock.advance(2.0)
        await theatre.sees("At last.")


async def test_escape_gives_a_retry_up(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, ProviderUnavailable("overloaded"), says("Never."))
    async with theatre.playing():
        theatre.send("go")
        await theatre.sees("Retrying in 2s")
        theatre.type("\x1b")
        await theatre.loses("Retrying")
        await theatre.rests()
        assert "Never." not in theatre.tape


async def test_escape_ends_the_run_even_if_the_wait_is_just_over(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, ProviderUnavailable("overloaded"), says("Never."))
    async with theatre.playing():
        theatre.send("go")
        await theatre.sees("Retrying in 2s")
        assert theatre.session is not None
        theatre.session.retry._policy._waiting = None
        theatre.type("\x1b")
        await theatre.loses("Retrying")
        await theatre.rests()
        assert "Never." not in theatre.tape


async def test_a_retry_that_is_given_up_gives_queued_messages_back(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, ProviderUnavailable("overloaded"), says("Never."))
    async with theatre.playing():
        theatre.send("go")
        await theatre.sees("Retrying in 2s")
        theatre.send("and be quick")
        await theatre.sees("Steering: and be quick")
        theatre.type("half a thought")
        theatre.type("\x1b")
        await theatre.sees("\nand be quick\n\nhalf a thought\n")
        await theatre.rests()
        assert "Steering:" not in theatre.screen


@pytest.mark.parametrize("leaves", [True, False])
async def test_the_end_of_a_long_run_notifies_an_unfocused_window(
    tmp_path: Path, *, leaves: bool
) -> None:
    theatre = Theatre(tmp_path, calls("bash", command="cat gate"), says("Done."))
    gate = theatre.gate()
    async with theatre.playing():
        theatre.send("go")
        await theatre.sees("Running bash")
        if leaves:
            theatre.type("\x1b[O")
        await theatre.clock.advance(30)
        await gate.open()
        await theatre.sees("Done.")
        await theatre.rests()
        assert ("\x07" in theatre.terminal.output) is leaves


async def test_progress_is_shown_where_it_is_requested(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, says("Done."))
    theatre.stage.write(".pi/agent/settings.json", '{"terminal": {"showTerminalProgress": true}}')
    async with theatre.playing():
        theatre.send("go")
        await theatre.sees("Done.")
        await theatre.until(lambda: "\x1b]9;4;0;0\x07" in theatre.terminal.output)
        assert "\x1b]9;4;3;0\x07" in theatre.terminal.output


async def test_leaving_in_the_middle_ends_the_progress_and_names_the_window_again(
    tmp_path: Path,
) -> None:
    theatre = Theatre(tmp_path, calls("bash", command="cat gate"))
    theatre.gate()
    theatre.stage.write(".pi/agent/settings.json", '{"terminal": {"showTerminalProgress": true}}')
    async with theatre.playing():
        theatre.send("go")
        await theatre.sees("Running bash")
    assert "\x1b[?1004l\x1b]9;4;0;0\x07\x1b]0;π - project\x07" in theatre.written


@pytest.mark.behaviour("escape-stops-compaction")
async def test_escape_stops_a_compaction_that_waits_before_it_asks_again(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, says("a"), says("b"), ProviderUnavailable("overloaded"))
    async with theatre.playing():
        assert theatre.session is not None
        theatre.session.settings.override({"compaction.keepRecentTokens": 1})
        for words in ("one", "two"):
            theatre.send(words)
            await theatre.rests()
        compaction = asyncio.ensure_future(theatre.session.compaction.compact())
        await theatre.sees("Compacting · Retrying in 2s (attempt 1/3)")
        theatre.type("\x1b")
        with pytest.raises(CompactionFailed, match="cancelled"):
            await compaction
        await theatre.loses("Compacting")


async def test_a_notice_that_a_model_is_loading_ends_with_the_answer(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, says("Here."))
    async with theatre.playing():
        assert theatre.commands is not None
        ui = theatre.commands.ui
        theatre.send("go")
        ui.notify("Loading SmolLM2…")
        await theatre.sees("Here.")
        await theatre.rests()
        assert "Loading" not in theatre.screen

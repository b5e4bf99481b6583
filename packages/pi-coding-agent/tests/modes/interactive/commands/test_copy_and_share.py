"""Commands that copy, export and share the conversation."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi.base.errors import PiError
from pi.testing import says
from pi.tui.desktop import Clipboard
from tests.modes.interactive.commands.command_fixture import CommandFixture, command_fixture


async def test_the_last_answer_is_copied(tmp_path: Path) -> None:
    async with command_fixture(tmp_path, says("the answer")) as on:
        with pytest.raises(PiError, match="no answer to copy"):
            await on.run("/copy")
        await on.session.prompts.prompt("hi")
        await on.run("/copy")
        assert on.screen.copied == ["the answer"]
        assert on.screen.notices[-1] == ("success", "Copied the last answer.")


@pytest.mark.behaviour("copy-reports-truth")
async def test_copying_reports_whether_it_was_confirmed(tmp_path: Path) -> None:
    async with command_fixture(tmp_path, says("the answer")) as on:
        await on.session.prompts.prompt("hi")
        written: list[str] = []
        on.screen.clipboard = Clipboard(
            system="linux",
            env={},
            find=lambda name: None,
            run=on.screen._copy,
            write=written.append,
        )
        await on.run("/copy")
        assert written
        assert on.screen.notices[-1][0] == "info"
        assert "terminals do not confirm it" in on.last_notice


async def test_the_whole_session_is_copied_as_text(tmp_path: Path) -> None:
    async with command_fixture(tmp_path, says("the answer"), persistent=False) as on:
        with pytest.raises(PiError, match="No messages to dump yet"):
            await on.run("/dump")
        await on.session.prompts.prompt("hi")
        await on.run("/dump")
        [text] = on.screen.copied
        assert "=== System prompt ===" in text
        assert "the answer" in text


async def test_export_reports_the_path_of_its_file(tmp_path: Path) -> None:
    async with command_fixture(tmp_path, says("a")) as on:
        await on.session.prompts.prompt("hi")
        await on.run("/export out.jsonl")
        path = on.fixture.cwd / "out.jsonl"
        assert path.exists()
        assert on.screen.printed(500).strip() == f"Session exported to {path}"
        with pytest.raises(PiError, match="Export writes a file"):
            await on.run("/export copy")


def _share_with(on: CommandFixture, script: str) -> None:
    """A program of the user's own shares."""
    folder = on.fixture.home / "bin"
    folder.mkdir(exist_ok=True)
    program = folder / "share-it"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    on.session.settings.override({"share.command": [str(program)]})


@pytest.mark.behaviour("shares-do-not-collide")
async def test_the_shared_address_is_reported_in_full(tmp_path: Path) -> None:
    async with command_fixture(tmp_path, says("a")) as on:
        await on.session.prompts.prompt("hi")
        address = "https://share.example.com/" + "a" * 90
        _share_with(on, f"echo {address}")
        task = on.start("/share")
        async with asyncio.timeout(30):
            await task
        assert address in on.screen.printed(40).replace("\n", "").replace(" ", "")


async def test_sharing_can_be_cancelled(tmp_path: Path) -> None:
    async with command_fixture(tmp_path, says("a")) as on:
        await on.session.prompts.prompt("hi")
        _share_with(on, "sleep 60")
        task = on.start("/share")
        await on.screen.until(lambda text: "Sharing…" in text)
        await on.screen.press("escape")
        async with asyncio.timeout(30):
            await task
        assert on.last_notice == "Share cancelled"

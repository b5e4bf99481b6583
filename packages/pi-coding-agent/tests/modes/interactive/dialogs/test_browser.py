"""Opening things outside."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from pi.base.records import replace
from pi.coding.runtime.machine import Machine
from pi.modes.interactive.dialogs.opening_pages import open_in_browser
from tests.modes.interactive.extensions.layouts import new_frame, new_ui
from tests.modes.interactive.fake_screen import FakeScreen


def host(tmp_path: Path, **environ: str) -> Machine:
    """A machine whose ``xdg-open`` writes down what it was to open."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "xdg-open"
    program.write_text('#!/bin/sh\necho "$1" > "$OPENED"\n')
    program.chmod(0o755)
    usual = {"PATH": f"{folder}:/usr/bin:/bin", "OPENED": str(tmp_path / "opened")}
    return replace(FakeScreen(tmp_path).host, environ=usual | environ)


@pytest.mark.skipif("sys.platform == 'win32'")
async def test_an_address_is_opened_by_the_program_of_the_desktop(tmp_path: Path) -> None:
    machine, opened = host(tmp_path, DISPLAY=":0"), tmp_path / "opened"
    os.mkfifo(opened)
    assert await open_in_browser("https://x/?a=1&b='2'", machine, system="linux")
    async with asyncio.timeout(30):
        assert await asyncio.to_thread(opened.read_text) == "https://x/?a=1&b='2'\n"


async def test_nothing_is_opened_without_a_display(tmp_path: Path) -> None:
    machine = host(tmp_path)
    assert not await open_in_browser("x", machine, system="linux")
    over_ssh = replace(machine, environ={**machine.environ, "DISPLAY": ":0", "SSH_TTY": "/x"})
    assert not await open_in_browser("x", over_ssh, system="linux")


@pytest.mark.skipif("sys.platform == 'win32'")
async def test_the_browser_gets_no_api_keys(tmp_path: Path) -> None:
    machine, opened = (
        host(tmp_path, DISPLAY=":0", MINE="key", GROQ_API_KEY="key"),
        tmp_path / "opened",
    )
    (tmp_path / "bin/xdg-open").write_text('#!/bin/sh\nenv > "$OPENED"\n')
    machine.agent_dir.mkdir(parents=True, exist_ok=True)
    (machine.agent_dir / "models.json").write_text('{"providers": {"mine": {"apiKey": "$MINE"}}}')
    os.mkfifo(opened)
    assert await open_in_browser("https://x/", machine, system="linux")
    async with asyncio.timeout(30):
        seen = await asyncio.to_thread(opened.read_text)

    assert "DISPLAY=:0" in seen
    assert "=key" not in seen


@pytest.mark.skipif("sys.platform != 'linux'")
async def test_an_extension_opens_web_pages_only(tmp_path: Path) -> None:
    screen, opened = FakeScreen(tmp_path / "screen"), tmp_path / "opened"
    screen.host = host(tmp_path, DISPLAY=":0")
    os.mkfifo(opened)
    ui = new_ui(screen, new_frame(tmp_path / "frame"))

    ui.open_url("file:///bin/sh")
    ui.open_url("https://x/")

    async with asyncio.timeout(30):
        assert await asyncio.to_thread(opened.read_text) == "https://x/\n"
        await screen.tasks.settle(30)

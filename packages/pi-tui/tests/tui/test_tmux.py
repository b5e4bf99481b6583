from __future__ import annotations

import asyncio
import os
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pi.tui.screen.pane_match import PaneText
from pi.tui.terminals.tmux import parse_pane, read_pane, read_tmux_pane

SECONDS = 60.0


@pytest.fixture
def run(program: Callable[[str, str], str], tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Runs a command of a private tmux server, whose socket is in ``tmp_path``."""
    command = [program("tmux", "reading a real pane"), "-S", str(tmp_path / "socket")]

    def run(*words: str) -> str:
        done = subprocess.run(
            [*command, "-f", os.devnull, *words],
            check=True,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        return done.stdout.strip()

    yield run
    subprocess.run([*command, "kill-server"], check=False, capture_output=True)


def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "TMUX": f"{tmp_path / 'socket'},1,0"}


async def test_a_pane_can_be_read(run: Callable[..., str], tmp_path: Path) -> None:
    script = "printf '日本\\n%s\\n' $(seq 1 20); cat"
    run("new-session", "-d", "-x", "30", "-y", "6", script)
    end = time.monotonic() + SECONDS
    while not run("capture-pane", "-p").endswith("20"):
        assert time.monotonic() < end
    pane = run("display-message", "-p", "#{pane_id}")

    tape = await read_pane(pane, environment(tmp_path))

    printed = [row for number in range(1, 21) for row in ("日本", str(number))]
    assert tape == PaneText(rows=[*printed, ""], width=30, height=6)
    assert tape.above == 35


async def test_without_a_server_there_is_no_pane_text(
    program: Callable[[str, str], str], tmp_path: Path
) -> None:
    program("tmux", "asking for a server")

    assert await read_pane("%0", environment(tmp_path)) is None
    assert await read_pane("%0", {"PATH": str(tmp_path), "TMUX": uuid.uuid4().hex}) is None


async def test_a_read_calls_back_once_and_can_be_cancelled(tmp_path: Path) -> None:
    env = {"PATH": str(tmp_path)}
    seen: asyncio.Future[PaneText | None] = asyncio.get_running_loop().create_future()

    read_tmux_pane("%0", env, lambda tape: seen.set_exception(AssertionError("it was ended")))()
    read_tmux_pane("%0", env, seen.set_result)

    async with asyncio.timeout(SECONDS):
        assert await seen is None


@pytest.mark.parametrize("output", ["", "no server\n", "80 24\ntoo few\n", "x y\n1\n"])
def test_invalid_tmux_output_is_ignored(output: str) -> None:
    assert parse_pane(output) is None


def test_parse_pane_returns_the_size_and_the_rows() -> None:
    assert parse_pane("80 2\nabove\nhere\n\n") == PaneText(
        rows=["above", "here", ""], width=80, height=2
    )

"""The program in a real terminal."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from pi.cli.dispatch import main_help


class Screen(Protocol):
    def __call__(self, command: str, until: str) -> list[str]: ...


@pytest.fixture
def screen(program: Callable[[str, str], str], tmp_path: Path) -> Iterator[Screen]:
    """Runs a command in tmux. Returns the visible rows once ``until`` has appeared."""
    tmux = [program("tmux", "the program in a real terminal"), "-S", str(tmp_path / "socket")]

    def run(*words: str) -> str:
        return subprocess.run([*tmux, *words], check=True, capture_output=True, text=True).stdout

    def show(command: str, until: str) -> list[str]:
        run("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", f"{command}; exec cat")
        deadline = time.monotonic() + 60
        # Where a text wraps depends on the length of the paths in it.
        while until not in " ".join((pane := run("capture-pane", "-p")).split()):
            assert time.monotonic() < deadline, pane
            time.sleep(0.05)
        return pane.rstrip("\n").split("\n")

    yield show
    subprocess.run([*tmux, "kill-server"], check=False, capture_output=True)


def test_the_help_page_fits_a_small_terminal(screen: Screen) -> None:
    rows = screen(f"'{sys.executable}' -m pi -ne --help", "SIGTERM")

    reported = main_help(80).rstrip("\n").split("\n")
    assert rows == reported[-len(rows) :]


def test_an_error_is_shown_as_two_lines_and_no_traceback(screen: Screen) -> None:
    rows = screen(f"'{sys.executable}' -m pi --nonsense", "--help")

    assert rows == ["Error: Unknown option: --nonsense", "See `pi --help`."]


def test_an_exit_in_an_extension_callback_is_reported_and_the_screen_remains(
    screen: Screen, tmp_path: Path
) -> None:
    extension = tmp_path / "exits.py"
    extension.write_text(
        "import asyncio, sys\n"
        "def extension(pi):\n"
        "    @pi.on('session_start')\n"
        "    async def handle(event, ctx):\n"
        "        asyncio.get_running_loop().call_soon(sys.exit)\n"
    )
    (tmp_path / "home/.pi/agent").mkdir(parents=True)
    (tmp_path / "home/.pi/agent/settings.json").write_text("{}")  # not a new home
    pi = f"PI_NO_LOCAL=1 PI_OFFLINE=1 HOME='{tmp_path}/home' '{sys.executable}' -m pi"

    rows = screen(f"cd '{tmp_path}'; {pi} --model demo/tour -e exits.py", "pi goes on.")

    shown = " ".join(" ".join(rows).split())
    assert re.search(r"raised SystemExit in a task or callback.*; pi goes on\.", shown)
    assert any("demo" in row or "tour" in row for row in rows[-3:])  # the footer

"""The real program in tmux, with the tour in place of a model."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.program import Program

TMUX = shutil.which("tmux")
SECONDS = 30.0

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(TMUX is None, reason="needs tmux"),
]


class Pane:
    """A tmux server of our own with one window, in which ``pi`` runs."""

    def __init__(self, cli: Program, columns: int, rows: int, *words: str) -> None:
        self._command = [str(TMUX), "-L", f"pi-{uuid.uuid4().hex}", "-f", os.devnull]
        program = shlex.join([sys.executable, "-m", "pi", *words])
        size = ("-x", str(columns), "-y", str(rows))
        script = f"{program}; echo ended: $?; exec cat"
        subprocess.run(
            [*self._command, "new-session", "-d", *size, script],
            check=True,
            cwd=cli.cwd,
            env={**cli.variables, "TERM": "xterm-256color"},
            timeout=SECONDS,
        )

    def run(self, *words: str) -> str:
        done = subprocess.run(
            [*self._command, *words], check=True, capture_output=True, text=True, timeout=SECONDS
        )
        return done.stdout

    def keys(self, *keys: str) -> None:
        """Press keys, by the names that tmux has for them."""
        self.run("send-keys", *keys)

    @property
    def tape(self) -> str:
        """History and screen."""
        rows = self.run("capture-pane", "-p", "-S", "-", "-E", "-").split("\n")
        return "\n".join(row.rstrip() for row in rows)

    def sees(self, text: str) -> None:
        """Wait until a text is there."""
        self.until(lambda: text in self.tape)

    def until(self, happened: Callable[[], bool]) -> None:
        """Wait until something has happened."""
        end = time.monotonic() + SECONDS
        while not happened():
            assert time.monotonic() < end, self.tape

    def close(self) -> None:
        self.run("kill-server")


@pytest.fixture
def open_pane(tmp_path: Path) -> Iterator[Callable[[int, int], Pane]]:
    panes: list[Pane] = []

    def make(columns: int, rows: int) -> Pane:
        panes.append(Pane(Program.below(tmp_path), columns, rows, "--model", "demo/tour"))
        return panes[-1]

    yield make
    for pane in panes:
        pane.close()


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40), (40, 12)])
def test_a_conversation_reads_well_at_every_size(
    open_pane: Callable[[int, int], Pane], columns: int, rows: int
) -> None:
    pane = open_pane(columns, rows)
    pane.sees("(demo) tour" if columns > 60 else "tour")
    pane.keys("hello", "Enter")
    pane.sees("That was the tour")
    pane.until(lambda: "esc to interrupt" not in pane.tape)

    for line in ("▌ hello", "✓ $ pwd; ls | head", "Now I write a small program", "✓ edit"):
        assert pane.tape.count(line) == 1
    pane.keys("C-d")
    pane.sees("ended: 0")
    assert "To resume this session: pi --session" in pane.tape.replace("\n", " ")


def test_a_resize_loses_and_doubles_nothing(open_pane: Callable[[int, int], Pane]) -> None:
    pane = open_pane(80, 24)
    pane.sees("(demo) tour")
    pane.keys("hello", "Enter")
    pane.sees("Now I write a small program")
    pane.run("resize-window", "-x", "60", "-y", "20")
    pane.sees("That was the tour")
    pane.until(lambda: "esc to interrupt" not in pane.tape)

    for line in ("▌ hello", "✓ $ pwd; ls | head", "And read it back.", "Last, I run it."):
        assert pane.tape.count(line) == 1, pane.tape


def test_a_killed_program_gives_the_terminal_back(open_pane: Callable[[int, int], Pane]) -> None:
    pane = open_pane(80, 24)
    pane.sees("(demo) tour")
    pane.keys("a draft")
    pane.sees("a draft")
    tty = pane.run("display-message", "-p", "#{pane_tty}").strip()
    listed = subprocess.run(
        ["ps", "-t", tty, "-o", "pid=,args="], check=True, capture_output=True, text=True
    )
    rows = [row.strip().partition(" ") for row in listed.stdout.splitlines()]
    [pid] = [int(pid) for pid, _, words in rows if words.startswith(sys.executable)]
    os.kill(pid, signal.SIGTERM)
    pane.sees("ended: 143")
    assert pane.run("display-message", "-p", "#{cursor_flag}").strip() == "1"

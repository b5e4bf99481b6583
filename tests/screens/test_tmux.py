"""The real program in tmux, with the tour or a scripted model."""

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
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import pytest

from scripts.workspace import ROOT, import_path
from tests.cli.program import Program
from tests.sampling import sampled
from tests.screens.long_answer import NUMBER
from tests.screens.terminal_user import TOUR, has_been_used

TMUX = shutil.which("tmux")
SECONDS = 60.0

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(TMUX is None, reason="needs tmux"),
]


class OpenPane(Protocol):
    """Opens a pane of a given size that runs a script, by default the tour."""

    def __call__(self, columns: int, rows: int, script: str = "") -> Pane: ...


class Pane:
    """A private tmux server with one window that runs a script."""

    def __init__(self, cli: Program, columns: int, rows: int, script: str) -> None:
        self._command = [str(TMUX), "-L", f"pi-{uuid.uuid4().hex}", "-f", os.devnull]
        size = ("-x", str(columns), "-y", str(rows))
        keep = ("set-option", "-g", "history-limit", "50000", ";")
        subprocess.run(
            [*self._command, *keep, "new-session", "-d", *size, script],
            check=True,
            cwd=cli.cwd,
            env={**cli.variables, "TERM": "xterm-256color", "PYTHONPATH": import_path(ROOT)},
            timeout=SECONDS,
        )

    def run(self, *words: str) -> str:
        done = subprocess.run(
            [*self._command, *words], check=True, capture_output=True, text=True, timeout=SECONDS
        )
        return done.stdout

    def keys(self, *keys: str) -> None:
        """Press keys, given by their tmux names."""
        self.run("send-keys", *keys)

    @property
    def tape(self) -> str:
        """History and screen."""
        return self._rows("-S", "-", "-E", "-")

    @property
    def screen(self) -> str:
        """The visible rows."""
        return self._rows()

    @property
    def history(self) -> str:
        """The history, with wrapped lines joined."""
        return self._rows("-J", "-S", "-", "-E", "-1")

    def _rows(self, *which: str) -> str:
        rows = self.run("capture-pane", "-p", *which).split("\n")
        return "\n".join(row.rstrip() for row in rows).rstrip("\n")

    def sees(self, text: str) -> None:
        """Wait until a text is in history or on the screen."""
        self.until(lambda: text in self.tape)

    def until(self, happened: Callable[[], bool]) -> None:
        """Wait until a condition holds."""
        end = time.monotonic() + SECONDS
        while not happened():
            assert time.monotonic() < end, self.tape
            time.sleep(0.01)  # leaves processor time to the program

    def resize(self, columns: int, rows: int) -> None:
        """Change the size, and wait until the program has repainted the screen."""
        self.run("resize-window", "-x", str(columns), "-y", str(rows))

        def is_painted() -> bool:
            *_, border, _, numbers = self.screen.split("\n")
            return border == "─" * columns and "context" in numbers

        self.until(is_painted)

    def open_gate(self, path: Path) -> None:
        """Unblock a command that reads a pipe."""
        fd = -1

        def has_reader() -> bool:
            nonlocal fd
            with suppress(OSError):
                fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            return fd >= 0

        self.until(has_reader)
        os.close(fd)

    def close(self) -> None:
        self.run("kill-server")


def module(*words: str) -> str:
    """Return the shell command that runs a module."""
    return shlex.join([sys.executable, "-m", *words])


@pytest.fixture
def open_pane(tmp_path: Path) -> Iterator[OpenPane]:
    panes: list[Pane] = []

    def make(columns: int, rows: int, script: str = "") -> Pane:
        script = script or f"{module('pi', *TOUR)}; echo ended: $?; exec cat"
        cli = Program.below(tmp_path)
        has_been_used(cli)
        panes.append(Pane(cli, columns, rows, script))
        return panes[-1]

    yield make
    for pane in panes:
        pane.close()


@pytest.mark.parametrize(("columns", "rows"), sampled([(80, 24), (120, 40), (40, 12)], keep=1))
def test_every_part_of_a_conversation_is_shown_once_at_every_size(
    open_pane: OpenPane, columns: int, rows: int
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


@pytest.mark.full
def test_a_resize_keeps_the_conversation_complete_and_in_order(open_pane: OpenPane) -> None:
    pane = open_pane(80, 24)
    pane.sees("(demo) tour")
    pane.keys("hello", "Enter")
    pane.sees("That was the tour")
    pane.until(lambda: "esc to interrupt" not in pane.tape)
    # Nothing is written during the resize: tmux reports a new size only after applying it.
    pane.resize(60, 20)

    lines = ("▌ hello", "✓ $ pwd; ls | head", "And read it back.", "That was the tour")
    places = [pane.tape.find(line) for line in lines]
    assert -1 not in places
    assert places == sorted(places)
    assert pane.tape.count("▌ hello") == 1  # it was in history before

    # Wrapped rows take the space of the empty rows below the footer, not that of the conversation.
    for columns in (54, 48, 42):
        pane.resize(columns, 20)
        assert "ANTHROPIC_API_KEY" in pane.screen
        assert len(pane.screen.split("\n")) >= 11
    assert all(pane.tape.count(line) == 1 for line in ("▌ hello", "And read it back."))


@pytest.mark.full
@pytest.mark.behaviour("resizes-are-coalesced")
def test_the_editor_remains_visible_in_a_repeatedly_narrowed_window(
    open_pane: OpenPane,
) -> None:
    pane = open_pane(100, 24)
    pane.sees("(demo) tour")
    # tmux keeps the blank rows below a short conversation and scrolls the top off the screen.
    for columns in (80, 60, 50, 40):
        pane.resize(columns, 24)
        pane.keys("still here")
        pane.until(lambda: "still here" in pane.screen)
        pane.keys("C-u")
        pane.until(lambda: "still here" not in pane.screen)


@pytest.mark.full
@pytest.mark.behaviour("committed-rows-are-final", "resizes-are-coalesced")
@pytest.mark.parametrize(("columns", "rows"), sampled([(50, 20), (60, 14)], keep=1))
def test_a_resize_during_a_long_answer_does_not_change_history(
    open_pane: OpenPane, tmp_path: Path, columns: int, rows: int
) -> None:
    play = tmp_path / "play"
    pane = open_pane(60, 20, module("tests.modes.interactive.program", str(play), "--long"))
    pane.sees("(faux) faux")
    pane.keys("go", "Enter")
    pane.sees("● $ cat gate")
    before = pane.history
    pane.resize(columns, rows)
    pane.open_gate(play / "home" / "project" / "gate")
    pane.sees("#2999")
    pane.until(lambda: "esc to interrupt" not in pane.tape)

    assert NUMBER.findall(pane.tape) == [f"{number:04}" for number in range(3000)]
    assert pane.history.startswith(before)


@pytest.mark.full
def test_a_terminated_program_restores_the_terminal(open_pane: OpenPane) -> None:
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


@pytest.mark.behaviour("suspend-and-resume")
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs a shell that can stop jobs")
def test_suspending_restores_the_terminal_and_resuming_redraws_the_screen(
    open_pane: OpenPane,
) -> None:
    pane = open_pane(80, 24, "PS1='shell> ' bash --norc --noprofile -i")
    pane.sees("shell>")
    pane.keys(module("pi", *TOUR), "Enter")
    pane.sees("(demo) tour")
    pane.keys("a draft")
    pane.sees("\na draft\n")
    pane.keys("C-z")
    pane.until(lambda: pane.screen.endswith("shell>"))
    pane.keys("echo $((40 + 2)) is it", "Enter")
    pane.sees("42 is it")
    pane.keys("fg", "Enter")
    pane.until(lambda: "\na draft\n" in pane.screen.partition("42 is it")[2])
    pane.keys(" goes on")
    pane.sees("a draft goes on")


@pytest.mark.full
@pytest.mark.behaviour("suspend-and-resume")
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs a shell that can stop jobs")
def test_a_conversation_remains_visible_if_the_window_is_narrowed_after_a_suspend(
    open_pane: OpenPane,
) -> None:
    pane = open_pane(80, 24, "PS1='shell> ' bash --norc --noprofile -i")
    pane.sees("shell>")
    pane.keys(module("pi", *TOUR), "Enter")
    pane.sees("(demo) tour")
    pane.keys("hello", "Enter")
    pane.sees("That was the tour")
    pane.until(lambda: "esc to interrupt" not in pane.tape)
    pane.keys("C-z")
    pane.until(lambda: pane.screen.endswith("shell>"))
    pane.keys("fg", "Enter")
    pane.until(lambda: "That was the tour" in pane.tape.rpartition("shell> fg")[2])
    pane.resize(60, 24)
    assert "Hello from pi, edited" in pane.screen
    assert "That was the tour" in pane.screen

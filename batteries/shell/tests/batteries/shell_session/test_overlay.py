"""Real programs in the overlay receive keys and are resized with the window."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import Program
from tests.screens.test_tmux import TMUX, Pane

pytestmark = [
    pytest.mark.full,
    pytest.mark.slow,
    pytest.mark.skipif(TMUX is None, reason="needs tmux"),
]

MODEL = """\
import json
from pathlib import Path
from pi.testing import ScriptedProvider, calls, says

def extension(pi):
    call = json.loads(Path({file!r}).read_text())
    pi.register_provider(ScriptedProvider(calls("bash", **call), says("It is closed.")))
"""


def shows(pane: Pane, text: str) -> None:
    """Wait until the screen shows a text."""
    pane.until(lambda: text in pane.screen)


def resize(pane: Pane) -> None:
    """Make the window smaller, and wait until the overlay has its size."""
    pane.run("resize-window", "-x", "80", "-y", "24")
    pane.until(lambda: len(pane.screen.split("\n")[0]) == 80 and pane.screen.count("\n") == 23)


class Window:
    """pi in tmux, with a model that calls ``bash`` once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.cli = Program.below(folder)
        self.cli.write("settings.json", json.dumps({"bash": {"extended": True}}))
        self.pane: Pane | None = None

    def open(self, *flags: str, **call: Any) -> Pane:
        """Start pi and send a prompt."""
        file = self._folder / "call.json"
        file.write_text(json.dumps(call))
        model = self._folder / "model.py"
        model.write_text(MODEL.format(file=str(file)))
        program = [sys.executable, "-m", "pi", "-e", str(model), "--model", "faux/faux", *flags]
        self.pane = Pane(self.cli, 100, 30, shlex.join(program))
        shows(self.pane, "Ask anything")
        self.pane.keys("go", "Enter")
        return self.pane


@pytest.fixture
def window(tmp_path: Path) -> Iterator[Window]:
    pytest.importorskip("pyghostty")
    window = Window(tmp_path)
    yield window
    if window.pane is not None:
        window.pane.close()


@pytest.mark.skipif(shutil.which("vim") is None, reason="needs vim")
def test_vim_receives_keys_and_resizes(window: Window) -> None:
    pane = window.open(command="vim -u NONE note.txt", pty=True)
    shows(pane, "Ctrl+] ends the program")

    pane.keys("ihello from tmux", "Escape")
    shows(pane, "hello from tmux")
    pane.keys(":r !stty size </dev/tty", "Enter")
    shows(pane, "28 100")
    resize(pane)
    pane.keys(":r !stty size </dev/tty", "Enter")
    shows(pane, "22 80")
    pane.keys(":wq", "Enter")
    shows(pane, "It is closed.")

    written = (window.cli.cwd / "note.txt").read_text()
    assert written == "hello from tmux\n28 100\n22 80\n"


@pytest.mark.skipif(shutil.which("htop") is None, reason="needs htop")
def test_htop_receives_keys(window: Window) -> None:
    pane = window.open(command="htop", pty=True)

    shows(pane, "F10Quit")
    pane.keys("F1")
    shows(pane, "Released under the GNU")
    pane.keys("Escape")
    shows(pane, "F10Quit")
    pane.keys("q")
    shows(pane, "It is closed.")


def test_a_python_repl_receives_keys_and_escape_ends_it(window: Window) -> None:
    pane = window.open(command=f"{sys.executable} -q", pty=True)

    shows(pane, ">>>")
    pane.keys("print(6 * 7, 'sum')", "Enter")
    shows(pane, "42 sum")
    pane.keys("Up", "Enter")
    pane.keys("import os; print(os.get_terminal_size())", "Enter")
    shows(pane, "columns=100, lines=28")
    resize(pane)
    pane.keys("print(os.get_terminal_size())", "Enter")
    shows(pane, "columns=80, lines=22")
    pane.keys("Escape")
    shows(pane, "It is closed.")


def test_the_no_pty_flag_runs_commands_without_a_terminal(window: Window) -> None:
    pane = window.open("--no-pty", command="test -t 1 && echo terminal || echo pipe", pty=True)

    shows(pane, "It is closed.")
    shows(pane, "pipe")

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.program import PATIENCE, Program

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are of POSIX")


class Person:
    """Somebody at a terminal in which ``pi`` runs."""

    def __init__(self, cli: Program, *words: str) -> None:
        self._ours, theirs = pty.openpty()
        self.program = subprocess.Popen(
            [sys.executable, "-m", "pi", *words],
            cwd=cli.cwd,
            env={**cli.variables, "TERM": "xterm", "COLUMNS": "100", "LINES": "30"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.seen = ""

    def reads_until(self, text: str) -> None:
        """Read until a text has been shown; a missing one ends with the program."""
        while text not in self.seen:
            data = os.read(self._ours, 65_536)
            assert data, self.seen
            self.seen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07", "", data.decode())

    def types(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def close(self) -> None:
        if self.program.poll() is None:
            self.program.kill()
        self.program.wait(PATIENCE)
        os.close(self._ours)


@contextmanager
def person(cli: Program, *words: str) -> Iterator[Person]:
    made = Person(cli, *words)
    try:
        yield made
    finally:
        made.close()


def test_without_a_model_the_person_is_told_what_to_do(tmp_path: Path) -> None:
    with person(Program.below(tmp_path)) as ada:
        ada.reads_until("no model: /login")
        ada.types("\x04")
        assert ada.program.wait(PATIENCE) == 0


def test_the_words_of_the_command_line_are_said_at_once(tmp_path: Path) -> None:
    with person(Program.below(tmp_path), "--model", "demo/tour", "hello there") as ada:
        ada.reads_until("hello there")
        ada.reads_until("This is a guided tour")
        ada.reads_until("That was the tour")
        ada.types("\x04")
        ada.reads_until("To resume this session: pi --session")
        assert ada.program.wait(PATIENCE) == 0


def test_what_was_loaded_is_told(tmp_path: Path) -> None:
    cli = Program.below(tmp_path)
    cli.write("AGENTS.md", "Be kind.")
    with person(cli) as ada:
        ada.reads_until("AGENTS.md · /help for commands")
        ada.types("\x04")
        assert ada.program.wait(PATIENCE) == 0


def test_trust_is_asked_before_the_project_is_read(tmp_path: Path) -> None:
    cli = Program.below(tmp_path)
    (cli.cwd / ".pi").mkdir()
    (cli.cwd / ".pi" / "settings.json").write_text('{"theme": "light"}')
    with person(cli) as ada:
        ada.reads_until("Trust project folder?")
        ada.types("\r")
        ada.reads_until("no model: /login")
        ada.types("\x04")
        assert ada.program.wait(PATIENCE) == 0
    assert (cli.agent_dir / "trust.json").exists()


def test_resume_opens_the_list_of_sessions(tmp_path: Path) -> None:
    with person(Program.below(tmp_path), "--resume") as ada:
        ada.reads_until("Resume")
        ada.types("\x1b")
        ada.types("\x04")

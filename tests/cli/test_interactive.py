from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pi.testing.virtual_terminal import VirtualTerminal
from tests.cli.program import PATIENCE, Program

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are of POSIX")


class Person:
    """Somebody at a terminal in which ``pi`` runs."""

    def __init__(self, cli: Program, *words: str) -> None:
        self._screen = VirtualTerminal(100, 30, replies=False)
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

    @property
    def tape(self) -> str:
        """All that can be read."""
        return "\n".join(self._screen.tape)

    def sees(self, text: str) -> None:
        """Wait until a text is shown."""
        while text not in self.tape:
            ready, _, _ = select.select([self._ours], [], [], PATIENCE)
            assert ready, self.tape
            self._screen.write(os.read(self._ours, 65_536).decode("utf-8", "replace"))

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
        ada.sees("no model: /login")
        ada.types("\x04")
        assert ada.program.wait(PATIENCE) == 0


def test_the_words_of_the_command_line_are_said_at_once(tmp_path: Path) -> None:
    with person(Program.below(tmp_path), "--model", "demo/tour", "hello there") as ada:
        ada.sees("hello there")
        ada.sees("This is a guided tour")
        ada.sees("That was the tour")
        ada.types("\x04")
        ada.sees("To resume this session: pi --session")
        assert ada.program.wait(PATIENCE) == 0


def test_what_was_loaded_is_told(tmp_path: Path) -> None:
    cli = Program.below(tmp_path)
    cli.write("AGENTS.md", "Be kind.")
    with person(cli) as ada:
        ada.sees("AGENTS.md · /help for commands")
        ada.types("\x04")
        assert ada.program.wait(PATIENCE) == 0


def test_trust_is_asked_before_the_project_is_read(tmp_path: Path) -> None:
    cli = Program.below(tmp_path)
    (cli.cwd / ".pi").mkdir()
    (cli.cwd / ".pi" / "settings.json").write_text('{"theme": "light"}')
    with person(cli) as ada:
        ada.sees("Trust project folder?")
        ada.types("\r")
        ada.sees("no model: /login")
        ada.types("\x04")
        assert ada.program.wait(PATIENCE) == 0
    assert (cli.agent_dir / "trust.json").exists()


def test_resume_opens_the_list_of_sessions(tmp_path: Path) -> None:
    with person(Program.below(tmp_path), "--resume") as ada:
        ada.sees("Resume")
        ada.types("\x1b")
        ada.types("\x04")

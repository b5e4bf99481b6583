from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pi import __version__
from tests.cli.program import Program
from tests.screens.person import TOUR, person

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are of POSIX")


def known(folder: Path) -> Program:
    """The program of somebody who was welcomed before, and has no model."""
    cli = Program.below(folder)
    cli.write("settings.json", json.dumps({"lastChangelogVersion": __version__}))
    return cli


def test_somebody_new_without_a_model_is_led_to_one(tmp_path: Path) -> None:
    with person(Program.below(tmp_path)) as ada:
        ada.sees("as the terminal is, dark or light")
        ada.types("\x1b")
        ada.sees("No model can be asked yet. How do you want to begin?")
        ada.types("\x1b[B\r")
        ada.sees("(demo) tour")
        ada.sees("Show me around")
        ada.types("\r")
        ada.sees("This is a guided tour")


def test_without_a_model_the_person_is_told_what_to_do(tmp_path: Path) -> None:
    with person(known(tmp_path)) as ada:
        ada.sees("no model: /login")
        assert ada.leaves() == 0


def test_a_newer_version_is_told_behind_everything_else(tmp_path: Path) -> None:
    cli = known(tmp_path)
    far = {"latest": "99.0", "askedMs": 0, "nextMs": 1 << 52}
    cli.write("update-check.json", json.dumps(far))
    with person(cli) as ada:
        ada.sees(f"pi 99.0 is available; this is {__version__}.")


def test_the_words_of_the_command_line_are_said_at_once(tmp_path: Path) -> None:
    with person(Program.below(tmp_path), *TOUR, "hello there") as ada:
        ada.sees("hello there")
        ada.sees("This is a guided tour")
        ada.sees("That was the tour")
        assert ada.leaves() == 0
        assert "To resume this session: pi --session" in ada.tape


def test_what_was_loaded_is_told(tmp_path: Path) -> None:
    cli = known(tmp_path)
    cli.write("AGENTS.md", "Be kind.")
    with person(cli) as ada:
        ada.sees("AGENTS.md · /help for commands")
        assert ada.leaves() == 0


def test_trust_is_asked_before_the_project_is_read(tmp_path: Path) -> None:
    cli = known(tmp_path)
    (cli.cwd / ".pi").mkdir()
    (cli.cwd / ".pi" / "settings.json").write_text('{"theme": "light"}')
    with person(cli) as ada:
        ada.sees("Trust project folder?")
        ada.types("\r")
        ada.sees("no model: /login")
        assert ada.leaves() == 0
    assert (cli.agent_dir / "trust.json").exists()


def test_resume_opens_the_list_of_sessions(tmp_path: Path) -> None:
    with person(known(tmp_path), "--resume") as ada:
        ada.sees("Resume")
        ada.types("\x1b")
        ada.types("\x04")


def test_a_session_that_is_not_there_ends_the_program_and_is_told_behind_it(
    tmp_path: Path,
) -> None:
    with person(known(tmp_path), "--session", "no-such-id") as ada:
        ada.sees("No session found matching 'no-such-id'")
        assert ada.ends() == 1


def test_who_opens_a_session_that_another_has_open_may_fork_it(tmp_path: Path) -> None:
    cli = known(tmp_path)
    with person(cli, *TOUR, "hello there") as ada:
        ada.sees("That was the tour")
        with person(cli, *TOUR, "--continue") as bob:
            bob.sees("Open a fork of the session?")
            bob.types("\r")
            bob.sees("That was the tour")
            assert (bob.leaves(), ada.leaves()) == (0, 0)
    files = list((cli.agent_dir / "sessions").rglob("*.jsonl"))
    assert len(files) == 2


def test_everything_that_was_loaded_is_told_in_full_to_who_wants_it(tmp_path: Path) -> None:
    with person(known(tmp_path), "--verbose", columns=40) as ada:
        ada.sees(f"pi {__version__}")
        ada.sees("no model: /login")
        words = ada.screen.replace("\n ", "")
        assert str(tmp_path / "work") in words
        assert ".jsonl" in words
        assert ada.leaves() == 0

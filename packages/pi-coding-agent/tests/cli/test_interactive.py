from __future__ import annotations

from pathlib import Path

from tests.cli.program import Program, known
from tests.screens.terminal_user import needs_pty, terminal_user

pytestmark = needs_pty


def test_a_new_user_without_a_model_is_guided_to_one(tmp_path: Path) -> None:
    with terminal_user(Program.below(tmp_path), in_a_new_home=True) as ada:
        ada.sees("Welcome to pi")
        ada.types("\x1b")
        ada.sees("No model is available yet. How do you want to start?")
        ada.types("\x1b[B\r")
        ada.sees("(demo) tour")
        ada.sees("Show me around")
        ada.types("\r")
        ada.sees("This is a guided tour")


def test_without_a_model_a_hint_is_shown(tmp_path: Path) -> None:
    with terminal_user(known(tmp_path)) as ada:
        ada.sees("no model: /login")
        assert ada.leaves() == 0


def test_trust_is_asked_before_the_project_is_read(tmp_path: Path) -> None:
    cli = known(tmp_path)
    (cli.cwd / ".pi").mkdir()
    (cli.cwd / ".pi" / "settings.json").write_text('{"theme": "light"}')
    with terminal_user(cli) as ada:
        ada.sees("Trust project folder?")
        ada.types("\r")
        ada.sees("no model: /login")
        assert ada.leaves() == 0
    assert (cli.agent_dir / "trust.json").exists()


def test_an_unknown_session_ends_the_program_with_an_error(
    tmp_path: Path,
) -> None:
    with terminal_user(known(tmp_path), "--session", "no-such-id") as ada:
        ada.sees("No session found matching 'no-such-id'")
        assert ada.ends() == 1

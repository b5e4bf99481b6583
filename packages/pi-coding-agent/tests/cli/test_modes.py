from __future__ import annotations

import pytest

from pi.base.errors import PiError
from pi.cli.arguments import Mode, check_mode, chosen_mode, parse_arguments


@pytest.mark.parametrize(
    ("argv", "terminal", "mode"),
    [
        ("", True, "interactive"),
        ("", False, "print"),
        ("-p", True, "print"),
        ("--mode text", True, "interactive"),
        ("--mode text", False, "print"),
        ("--mode json", True, "json"),
        ("--mode rpc", True, "rpc"),
        ("-p --mode json", False, "json"),
    ],
)
def test_the_mode_depends_on_the_options_and_on_the_terminal(
    argv: str, terminal: bool, mode: Mode
) -> None:
    assert chosen_mode(parse_arguments(argv.split()), terminal=terminal) == mode


def test_the_interactive_mode_accepts_resume_and_files() -> None:
    check_mode(parse_arguments(["--resume", "@file"]), "interactive")


@pytest.mark.parametrize(
    ("argv", "mode", "message"),
    [
        ("--resume", "print", "--resume needs a terminal to choose a session."),
        ("--resume", "rpc", "--resume needs a terminal to choose a session."),
        ("@file", "rpc", "@file arguments are not supported in RPC mode"),
    ],
)
def test_options_that_a_mode_does_not_support_are_rejected(
    argv: str, mode: Mode, message: str
) -> None:
    with pytest.raises(PiError) as caught:
        check_mode(parse_arguments(argv.split()), mode)

    assert caught.value.message == message


def test_options_that_a_mode_supports_are_accepted() -> None:
    check_mode(parse_arguments(["-p", "@file", "hello"]), "print")

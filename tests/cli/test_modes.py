from __future__ import annotations

import pytest

from pi.base.errors import PiError
from pi.cli.arguments import Mode, check_mode, chosen_mode, parse_arguments


@pytest.mark.parametrize(
    ("words", "terminal", "mode"),
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
def test_the_mode_is_what_was_said_and_who_looks_on(words: str, terminal: bool, mode: Mode) -> None:
    assert chosen_mode(parse_arguments(words.split()), terminal=terminal) == mode


def test_on_the_screen_everything_is_possible() -> None:
    check_mode(parse_arguments(["--resume", "@file"]), "interactive")


@pytest.mark.parametrize(
    ("words", "mode", "message"),
    [
        ("--resume", "print", "--resume needs a terminal to choose a session."),
        ("--resume", "rpc", "--resume needs a terminal to choose a session."),
        ("@file", "rpc", "@file arguments are not supported in RPC mode"),
    ],
)
def test_what_a_mode_cannot_do_is_refused(words: str, mode: Mode, message: str) -> None:
    with pytest.raises(PiError) as caught:
        check_mode(parse_arguments(words.split()), mode)

    assert caught.value.message == message


def test_what_a_mode_can_do_is_not_refused() -> None:
    check_mode(parse_arguments(["-p", "@file", "hello"]), "print")

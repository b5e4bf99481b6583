from __future__ import annotations

import pytest

from pi.batteries.shell_session.command_lines import (
    CleanedCommand,
    clean_command,
    strip_limits_at_end,
)


@pytest.mark.parametrize(
    ("command", "stripped"),
    [
        ("make | head -20", "make"),
        ("make 2>&1 | tail -n 5", "make"),
        ("make |& tail --lines=5", "make"),
        ("make | tail", "make"),
        ("make | tail -n -7", "make"),
        ("make 2>&1", "make"),
        ("grep -r 'a | head' . | head -n3", "grep -r 'a | head' ."),
        ("a && b | tail -1", "a && b"),
    ],
)
def test_trailing_output_limits_are_removed(command: str, stripped: str) -> None:
    assert strip_limits_at_end(command).command == stripped


@pytest.mark.parametrize(
    "command",
    [
        "make | head -20 | wc -l",
        "make | tail -n +5",
        "seq 9 | head -n -7",
        "seq 9 | head --lines=-7",
        "seq 9 | head 7",
        "seq 9 | head -c 7",
        "make | tail -f",
        "make || head -5",
        "tail -5",
        "echo 'a | head -5'",
        "echo 'a | head -5",
        "yes | head -5",
        "cat /dev/urandom | head -5",
        "tail -f log | head -5",
        "while true; do date; done | head -3",
        "cat <<X | head -5\nx\nX",
        "make | head -5 file",
        "make > log 2>&1 &",
        "2>&1",
    ],
)
def test_limits_that_cannot_be_removed_safely_are_kept(command: str) -> None:
    assert strip_limits_at_end(command) == CleanedCommand(command=command)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cd src && make", CleanedCommand(command="make", cwd="src")),
        (
            "cd 'a b' && make | tail -3",
            CleanedCommand(command="make", cwd="a b", removed="tail -3"),
        ),
        ('cd "a b" && make', CleanedCommand(command="make", cwd="a b")),
        ("cd ~/x && a && b", CleanedCommand(command="a && b", cwd="~/x")),
        ("cd src; make", CleanedCommand(command="cd src; make")),
        ("cd $HOME && make", CleanedCommand(command="cd $HOME && make")),
        ("cd src && make\nmake install", CleanedCommand(command="cd src && make\nmake install")),
        ("cd src &&", CleanedCommand(command="cd src &&")),
    ],
)
def test_a_leading_cd_becomes_the_folder(command: str, expected: CleanedCommand) -> None:
    assert clean_command(command) == expected


def test_limits_can_be_kept() -> None:
    assert clean_command("make | head -3", strip_limits=False) == CleanedCommand(
        command="make | head -3"
    )

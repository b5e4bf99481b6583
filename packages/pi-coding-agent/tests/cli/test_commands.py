from __future__ import annotations

from importlib import import_module

import pytest

from pi.cli.subcommand_rows import COMMANDS, SubcommandRow, find_command

COMPAT = {"install", "remove", "uninstall", "update", "list", "config", "auth"}


def test_every_command_of_the_original_pi_exists() -> None:
    assert {command.name for command in COMMANDS} >= COMPAT


@pytest.mark.parametrize(
    "command",
    [command for command in COMMANDS if not command.distribution],
    ids=lambda command: command.name,
)
def test_every_command_has_a_module_that_runs_it(command: SubcommandRow) -> None:
    module = import_module(f"pi.cli.subcommands.{command.module or command.name}")

    assert callable(module.run)


def test_the_actions_of_commands_are_exactly_these() -> None:
    actions = {command.name: command.actions for command in COMMANDS if command.actions}

    assert actions == {
        "models": ("pull", "use"),
        "sessions": ("rename", "move", "delete", "export", "import"),
        "auth": ("check", "print-api-key", "print-bearer-token", "login", "logout"),
        "extensions": ("list", "on", "off"),
        "completion": ("bash", "zsh", "fish"),
        "import": ("claude", "codex"),
        "relay": ("serve",),
        "batch": ("run", "resume", "report", "view"),
    }


def test_an_unknown_command_is_not_found() -> None:
    assert find_command("hello") is None

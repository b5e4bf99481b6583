"""Which mode a command line means, and whether it can be had. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias, cast

from pi.cli.arguments import Arguments, BadArguments

Mode: TypeAlias = Literal["print", "json", "rpc", "interactive"]


def chosen_mode(arguments: Arguments, *, terminal: bool) -> Mode:
    """A mode that is named counts; else with a terminal at both ends it is interactive."""
    named = arguments.text("mode")
    if named in ("json", "rpc"):
        return cast("Mode", named)
    return "interactive" if terminal and not arguments.switch("print") else "print"


def must_be_possible(arguments: Arguments, mode: Mode) -> None:
    """Raise if the command line asks for what ``mode`` cannot do."""
    if mode == "interactive":
        return
    if arguments.text("resume") == "":
        raise BadArguments(
            "--resume needs a screen to choose a session on.",
            hint="Use --continue for the latest one, or --session <id>; `pi sessions` lists them.",
        )
    if mode == "rpc" and arguments.files:
        raise BadArguments("@file arguments are not supported in RPC mode")

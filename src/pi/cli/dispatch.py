"""From the words of the command line to whoever does what they say."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping, Sequence

from pi import __version__
from pi.cli.arguments import Arguments, parse_arguments, parse_words
from pi.cli.commands import Command, find_command


def dispatch(words: Sequence[str], environ: Mapping[str, str]) -> int:
    """Do it; the exit code. Only what is needed for it is imported."""
    if words and (command := find_command(words[0])) is not None:
        return _run_command(command, words[1:], environ)
    arguments = parse_arguments(words)
    if arguments.switch("version"):
        sys.stdout.write(f"{__version__}\n")
        return 0
    if arguments.switch("help"):
        from pi.cli.help import main_help

        sys.stdout.write(main_help(_width()))
        return 0
    return _run_session(arguments, environ)


def _run_command(command: Command, words: Sequence[str], environ: Mapping[str, str]) -> int:
    arguments = parse_words(words, command.flags, command=command.name)
    if arguments.switch("help"):
        from pi.cli.help import command_help

        sys.stdout.write(command_help(command, _width()))
        return 0
    from importlib import import_module

    module = import_module(f"pi.cli.subcommands.{command.module or command.name}")
    code: int = module.run(arguments, environ)
    return code


def _run_session(arguments: Arguments, environ: Mapping[str, str]) -> int:
    """What a command line without a command wants: mostly, a conversation."""
    if (search := arguments.text("list_models")) is not None:
        from pi.cli.subcommands.models import list_models

        return list_models(search, environ)
    if (paths := arguments.texts("export")) is not None:
        from pi.cli.exporting import export

        return export(paths, environ)
    from pi.cli.modes import chosen_mode, must_be_possible

    mode = chosen_mode(arguments, terminal=sys.stdin.isatty() and sys.stdout.isatty())
    must_be_possible(arguments, mode)
    # What modules leave behind is no garbage: looking for some costs a tenth of the start.
    gc.disable()
    try:
        if mode == "interactive":
            from pi.cli.interactive import run as run_on_screen

            return run_on_screen(arguments, environ, when_ready=gc.enable)
        from pi.cli.headless import run

        return run(arguments, environ, mode=mode, when_ready=gc.enable)
    finally:
        gc.enable()


def _width() -> int:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (OSError, ValueError):  # no terminal
        return 80

"""The ``pi`` command.

``--version`` answers before anything is imported: people put it into shell prompts and scripts,
and it is the first thing a newcomer waits for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pi import __version__

if TYPE_CHECKING:  # needed by every command but --version
    from pi.cli.arguments import Arguments
    from pi.cli.commands import Command


def main(arguments: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ) -> int:
    """Run the program and return its exit code.

    Whatever goes wrong is told in one line, and what to do in another; ``PI_DEBUG=1`` shows where
    it comes from.
    """
    words = sys.argv[1:] if arguments is None else arguments
    _have_standard_streams()
    try:
        code = _run(words, environ)
        sys.stdout.flush()  # here, where a pipe that has closed can be dealt with
        return code
    except BrokenPipeError:
        # The reader has gone, e.g. `pi models | head`; what is left to flush goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _die_of_interrupt()
    except Exception as problem:
        if environ.get("PI_DEBUG"):
            raise
        sys.stderr.write(_told(problem))
        return 1


def _run(words: Sequence[str], environ: Mapping[str, str]) -> int:
    if words[:1] in (["-v"], ["--version"]):
        return _show_version()
    from pi.cli.commands import find_command

    if words and (command := find_command(words[0])) is not None:
        return _run_command(command, words[1:], environ)
    from pi.cli.arguments import parse_arguments

    arguments = parse_arguments(words)
    if arguments.switch("version"):
        return _show_version()
    if arguments.switch("help"):
        from pi.cli.help import main_help

        sys.stdout.write(main_help(_width()))
        return 0
    return _run_session(arguments, environ)


def _run_command(command: Command, words: Sequence[str], environ: Mapping[str, str]) -> int:
    from importlib import import_module

    from pi.cli.arguments import parse_words

    arguments = parse_words(words, command.flags, command=command.name)
    if arguments.switch("help"):
        from pi.cli.help import command_help

        sys.stdout.write(command_help(command, _width()))
        return 0
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

    mode = chosen_mode(arguments, terminal=_is_terminal())
    must_be_possible(arguments, mode)
    from pi.cli.headless import run

    return run(arguments, environ, mode=mode)


def _show_version() -> int:
    sys.stdout.write(f"{__version__}\n")
    return 0


def _told(problem: Exception) -> str:
    """What a person reads: what happened, and what to do next on a line of its own."""
    message = getattr(problem, "message", None)
    if message is None:
        return f"Error: {problem!r} (PI_DEBUG=1 shows where)\n"
    hint = getattr(problem, "hint", "")
    return f"Error: {message}\n" + (f"{hint}\n" if hint else "")


def _have_standard_streams() -> None:
    """Have all three, also for who closed one: another file would take its number otherwise."""
    for fd, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
            setattr(sys, name, open(fd, "r" if fd == 0 else "w", closefd=False))  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a name that the terminal cannot show is no bug


def _is_terminal() -> bool:
    """Whether a person sits at both ends."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _width() -> int:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (OSError, ValueError):  # no terminal
        return 80


def _die_of_interrupt() -> int:
    """End as Ctrl+C ends any program, so that a shell script that runs us stops too."""
    import signal

    if os.name == "posix":
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return 130

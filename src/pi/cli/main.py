"""The ``pi`` command.

``--version`` and ``--help`` answer before anything heavy is imported: people put them into shell
prompts and scripts, and they are the first thing a newcomer waits for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from pi import __version__

HELP = f"""\
pi {__version__}: a coding agent for the terminal

usage: pi [options]
       pi <command> …

commands
  models [search]  list the models that can be asked
  models pull      fetch the embedded model, which needs no key and no network

options
  -h, --help       show this page
  -v, --version    show the version
"""


def main(arguments: Sequence[str] | None = None, environ: Mapping[str, str] = os.environ) -> int:
    """Run the program and return its exit code.

    Whatever goes wrong is told in one line; ``PI_DEBUG=1`` shows where a bug is.
    """
    words = sys.argv[1:] if arguments is None else arguments
    try:
        code = _run(words, environ)
        sys.stdout.flush()  # here, where a pipe that has closed can be dealt with
        return code
    except BrokenPipeError:
        # The reader has gone, e.g. `pi models | head`; what is left to flush goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as problem:
        if environ.get("PI_DEBUG"):
            raise
        explain = getattr(problem, "explain", None)
        text = explain() if explain else f"{problem!r} (PI_DEBUG=1 shows where)"
        sys.stderr.write(f"Error: {text}\n")
        return 1


def _run(words: Sequence[str], environ: Mapping[str, str]) -> int:
    match words:
        case ["-v" | "--version", *_]:
            sys.stdout.write(f"{__version__}\n")
            return 0
        case [] | ["-h" | "--help", *_]:
            sys.stdout.write(HELP)
            return 0
        case ["models", *rest]:
            from pi.cli.subcommands import models  # only who asks for models waits for them

            return models.run(rest, environ)
    from pi.cli.arguments import parse_arguments
    from pi.cli.headless import run

    arguments = parse_arguments(words)
    if arguments.switch("version"):
        sys.stdout.write(f"{__version__}\n")
        return 0
    if arguments.switch("help"):
        sys.stdout.write(HELP)
        return 0
    mode = arguments.text("mode")
    return run(arguments, environ, mode="print" if mode in (None, "text") else mode)

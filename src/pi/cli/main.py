"""The ``pi`` command.

``--version`` and ``--help`` answer before anything heavy is imported: people put them into shell
prompts and scripts, and they are the first thing a newcomer waits for.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pi import __version__

HELP = f"""\
pi {__version__}: a coding agent for the terminal

usage: pi [options]

  -h, --help     show this page
  -v, --version  show the version
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    match words:
        case ["-v" | "--version", *_]:
            sys.stdout.write(f"{__version__}\n")
            return 0
        case [] | ["-h" | "--help", *_]:
            sys.stdout.write(HELP)
            return 0
        case [word, *_]:
            sys.stderr.write(f"Error: Unknown option: {word}\nSee `pi --help`.\n")
            return 1
    raise AssertionError("unreachable")

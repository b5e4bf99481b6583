"""``pi install``, ``remove``, ``update``, ``list``, ``config``: packages, which come later."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from pi.cli.arguments import Arguments
from pi.cli.modes import NotYet


def run(arguments: Arguments, environ: Mapping[str, str]) -> int:
    """Do what is wanted; the exit code."""
    if arguments.command == "list":
        sys.stdout.write("No packages installed.\n")
        return 0
    raise NotYet(
        f"`pi {arguments.command}` comes with a later version, together with packages.",
        hint="To update pi itself, use what it was installed with, such as pip or uv.",
    )

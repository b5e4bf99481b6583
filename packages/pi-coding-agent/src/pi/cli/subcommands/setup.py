"""``pi setup``: starts a session with the screen of a first start."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from pi.base.records import replace
from pi.cli.arguments import Arguments, UsageError


def run(arguments: Arguments, environ: Mapping[str, str]) -> int:
    """Run the interactive mode until the user quits; returns the exit code."""
    if arguments.messages:
        raise UsageError("`pi setup` takes no arguments", hint="Run `pi setup`.")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "`pi setup` needs a terminal",
            hint="Without one, write the settings file: docs/guide/settings.md.",
        )
    from pi.cli.interactive import run as run_on_screen  # lazy: the errors need no screen

    options = {**arguments.options, "setup": True}
    return run_on_screen(replace(arguments, command="", options=options), environ)

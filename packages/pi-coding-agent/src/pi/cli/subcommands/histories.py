"""``pi import``: imports histories of other agents as sessions."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from pi.base.errors import PiError
from pi.base.installation import install_command
from pi.base.terminal_text import sanitise
from pi.cli.arguments import Arguments, UsageError
from pi.cli.command_context import session_dir_here
from pi.cli.standard_streams import print_error
from pi.coding.import_sources import (
    DISTRIBUTION,
    HistoryFolders,
    find_import_sources,
    import_histories,
)
from pi.coding.runtime.machine import Machine


def run(arguments: Arguments, environ: Mapping[str, str]) -> int:
    """Import and print the report; returns 1 if a transcript could not be imported."""
    if not (agents := tuple(find_import_sources())):
        raise PiError(
            "No package that imports histories is installed.",
            hint=f"Install it: {install_command([DISTRIBUTION])}",
        )
    match arguments.messages:
        case (agent,) if agent in agents:
            pass
        case _:
            raise UsageError(
                f"`pi import` needs the name of an agent: {' or '.join(agents)}",
                hint="`/import <path>` imports a session file of pi.",
            )
    host, cwd = Machine.from_environ(environ, report=print_error), Path.cwd()
    folders = HistoryFolders(
        home=host.home,
        agent_dir=host.agent_dir,
        environ=host.environ,
        session_dir=session_dir_here(arguments, host, cwd),
    )
    report = import_histories(agent, folders, cwd=None if "all" in arguments.options else cwd)
    sys.stdout.write(f"{sanitise(report.describe())}\n")
    return 1 if report.problems else 0

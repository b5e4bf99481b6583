"""``pi import claude|codex``: imports histories of other agents as sessions."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from pi.base.terminal_text import sanitise
from pi.cli.arguments import Arguments, UsageError
from pi.cli.command_context import session_dir_here
from pi.cli.process import print_error
from pi.coding.histories import AGENTS, HistoryPlaces, import_histories
from pi.coding.runtime.machine import Machine


def run(arguments: Arguments, environ: Mapping[str, str]) -> int:
    """Import and print the report; returns 1 if a transcript could not be imported."""
    match arguments.messages:
        case (agent,) if agent in AGENTS:
            pass
        case _:
            raise UsageError(
                f"`pi import` needs the name of an agent: {' or '.join(AGENTS)}",
                hint="`/import <path>` imports a session file of pi.",
            )
    host, cwd = Machine.from_environ(environ, report=print_error), Path.cwd()
    folders = HistoryPlaces(
        home=host.home,
        agent_dir=host.agent_dir,
        environ=host.environ,
        session_dir=session_dir_here(arguments, host, cwd),
    )
    report = import_histories(agent, folders, cwd=None if "all" in arguments.options else cwd)
    sys.stdout.write(f"{sanitise(report.describe())}\n")
    return 1 if report.problems else 0

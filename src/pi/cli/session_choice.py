"""Which session the command line means."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.cli.arguments import Arguments
from pi.coding.session.breadcrumbs import (
    Breadcrumb,
    find_breadcrumb,
    leave_breadcrumb,
    terminal_key,
)
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import Shelf, new_session

KEPT = ("fork", "session", "session_id", "continue")
"""Options that mean a session which there is already."""


class Declined(PiError):
    """The person does not want to go on."""


class SessionChoice:
    """Opens what the command line asks for, on the shelf that the settings name."""

    def __init__(
        self,
        arguments: Arguments,
        environ: Mapping[str, str],
        *,
        agent_dir: Path,
        confirm: Callable[[str], bool],
        report: Callable[[str], None],
    ) -> None:
        self._arguments = arguments
        self._environ = environ
        self._agent_dir = agent_dir
        self._confirm = confirm
        self._report = report

    def open(self, shelf: Shelf) -> SessionLog:
        """The session; a new one, unless another is asked for."""
        if not any(name in self._arguments.options for name in KEPT):
            return new_session(shelf)
        return self._kept(shelf)

    def remember(self, log_file: Path | None, cwd: Path, clock: Clock) -> None:
        """Let ``--continue`` in this terminal find the session again."""
        key = self._terminal()
        if key is not None and log_file is not None:
            crumb = Breadcrumb(cwd=str(cwd), session=str(log_file))
            leave_breadcrumb(self._agent_dir, key, crumb, clock)

    def _kept(self, shelf: Shelf) -> SessionLog:
        # Not at the top: few starts look for one.
        from pi.cli.kept_sessions import KeptSessions
        from pi.coding.session.resolving import check_persistent

        arguments = self._arguments
        for name in ("session", "session_id", "continue"):
            if name in arguments.options:
                check_persistent(shelf.directory, f"--{name.replace('_', '-')}")
        kept = KeptSessions(self._agent_dir, shelf)
        if (wanted := arguments.text("fork")) is not None:
            return kept.forked(wanted, id=arguments.text("session_id"))
        if (wanted := arguments.text("session")) is not None:
            if (found := kept.named(wanted, self._confirm)) is None:
                raise Declined("")
            return found
        if (id := arguments.text("session_id")) is not None:
            return kept.by_id(id, self._report)
        return kept.last(self._breadcrumb())

    def _breadcrumb(self) -> Breadcrumb | None:
        key = self._terminal()
        return None if key is None else find_breadcrumb(self._agent_dir, key)

    def _terminal(self) -> str | None:
        tty = None
        if sys.stdin is not None and sys.stdin.isatty() and hasattr(os, "ttyname"):
            with suppress(OSError):  # in a container a terminal may have no name
                tty = os.ttyname(sys.stdin.fileno())
        return terminal_key(self._environ, tty=tty, shell_pid=os.getppid())

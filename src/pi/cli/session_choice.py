"""Which session the command line means."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.cli.arguments import Arguments
from pi.coding.session.breadcrumbs import (
    Breadcrumb,
    find_breadcrumb,
    leave_breadcrumb,
    terminal_key,
)
from pi.coding.session.errors import NoMatchingSession
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import Shelf, new_session

if TYPE_CHECKING:  # few starts look for a session
    from pi.cli.kept_sessions import KeptSessions

KEPT = ("fork", "session", "session_id", "continue", "resume")
"""Options that mean a session which there is already."""


class Declined(PiError):
    """The person does not want to go on."""


class SessionChoice:
    """Opens what the command line asks for, on the shelf that the settings name.

    With ``can_pick``, a ``--resume`` that matches no session sets ``must_pick``: the user is to
    choose one on the screen. Otherwise it raises ``NoMatchingSession``.
    """

    def __init__(
        self,
        arguments: Arguments,
        environ: Mapping[str, str],
        *,
        agent_dir: Path,
        confirm: Callable[[str], bool],
        report: Callable[[str], None],
        can_pick: bool = False,
    ) -> None:
        self.must_pick = False
        self._arguments = arguments
        self._environ = environ
        self._agent_dir = agent_dir
        self._confirm = confirm
        self._report = report
        self._can_pick = can_pick

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
        for name in ("session", "session_id", "continue", "resume"):
            if name in arguments.options:
                check_persistent(shelf.directory, f"--{name.replace('_', '-')}")
        kept = KeptSessions(self._agent_dir, shelf)
        if (wanted := arguments.text("resume")) is not None:
            if found := self._resumed(kept, wanted):
                return found
            self.must_pick = True
        if (wanted := arguments.text("fork")) is not None:
            return kept.forked(wanted, id=arguments.text("session_id"))
        if (wanted := arguments.text("session")) is not None:
            return self._named(kept, wanted)
        if (id := arguments.text("session_id")) is not None:
            return kept.by_id(id, self._report)
        if "continue" not in arguments.options:
            return new_session(shelf)  # shown until another one is picked
        return kept.last(self._breadcrumb())

    def _resumed(self, kept: KeptSessions, wanted: str) -> SessionLog | None:
        """The session that the value of ``--resume`` names; ``None`` if one is to be picked."""
        if not wanted:
            return None
        try:
            return self._named(kept, wanted, must_exist=True)
        except NoMatchingSession:
            if self._can_pick:
                return None
            raise NoMatchingSession(
                wanted,
                hint="Picking one needs a terminal. Use --continue for the latest one,"
                " or --session <id>; `pi sessions` lists them.",
            ) from None

    def _named(self, kept: KeptSessions, wanted: str, *, must_exist: bool = False) -> SessionLog:
        found = kept.named(wanted, self._confirm, must_exist=must_exist)
        if found is None:
            raise Declined("")
        return found

    def _breadcrumb(self) -> Breadcrumb | None:
        key = self._terminal()
        return None if key is None else find_breadcrumb(self._agent_dir, key)

    def _terminal(self) -> str | None:
        tty = None
        if sys.stdin is not None and sys.stdin.isatty() and hasattr(os, "ttyname"):
            with suppress(OSError):  # in a container a terminal may have no name
                tty = os.ttyname(sys.stdin.fileno())
        return terminal_key(self._environ, tty=tty, shell_pid=os.getppid())

"""Finds the session that the options of the command line request."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.cli.arguments import OPENS_STORED, Arguments
from pi.coding.session.breadcrumbs import (
    Breadcrumb,
    find_breadcrumb,
    leave_breadcrumb,
    terminal_key,
)
from pi.coding.session.errors import NoMatchingSession
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import SessionLocation, new_session

if TYPE_CHECKING:
    from pi.coding.session.lookup import SavedSessions


class OpenCancelled(PiError):
    """The user cancelled opening the session."""


class SessionResolver:
    """Opens the requested session in the location given by the settings.

    With ``can_pick``, a ``--resume`` that matches no session sets ``must_pick``: the user picks one
    on the screen. Otherwise it raises ``NoMatchingSession``.
    """

    def __init__(
        self,
        arguments: Arguments,
        environ: Mapping[str, str],
        *,
        agent_dir: Path,
        confirm: Callable[[str], bool],
        can_pick: bool = False,
    ) -> None:
        self.must_pick = False
        self._arguments = arguments
        self._environ = environ
        self._agent_dir = agent_dir
        self._confirm = confirm
        self._can_pick = can_pick

    @property
    def reads_stored(self) -> bool:
        """Whether a stored session is requested."""
        return any(name in self._arguments.options for name in OPENS_STORED)

    def open(self, location: SessionLocation) -> SessionLog:
        """Open the session; a new one, unless another is requested."""
        return self._open_stored(location) if self.reads_stored else new_session(location)

    def remember(self, log_file: Path | None, cwd: Path, clock: Clock) -> None:
        """Record the session for ``--continue`` in this terminal."""
        key = self._terminal()
        if key is not None and log_file is not None:
            crumb = Breadcrumb(cwd=str(cwd), session=str(log_file))
            leave_breadcrumb(self._agent_dir, key, crumb, clock)

    def _open_stored(self, location: SessionLocation) -> SessionLog:
        # Deferred: few command lines search for a session.
        from pi.coding.session.lookup import SavedSessions, check_persistent

        arguments = self._arguments
        for name in ("session", "session_id", "continue", "resume"):
            if name in arguments.options:
                check_persistent(location.directory, f"--{name.replace('_', '-')}")
        sessions = SavedSessions(self._agent_dir, location)
        if (query := arguments.text("resume")) is not None:
            if resumed := self._find_resumed(sessions, query):
                return resumed
            self.must_pick = True
        if (query := arguments.text("fork")) is not None:
            return sessions.forked(query, id=arguments.text("session_id"))
        if (query := arguments.text("session")) is not None:
            return self._find_named(sessions, query)
        if (id := arguments.text("session_id")) is not None:
            return sessions.by_id(id, location.report)
        if "continue" not in arguments.options:
            return new_session(location)  # shown until another one is picked
        return sessions.last(self._breadcrumb())

    def _find_resumed(self, sessions: SavedSessions, query: str) -> SessionLog | None:
        """Return the session that ``--resume`` names; ``None`` if the user is to pick one."""
        if not query:
            return None
        try:
            return self._find_named(sessions, query, must_exist=True)
        except NoMatchingSession:
            if self._can_pick:
                return None
            raise NoMatchingSession(
                query,
                hint="Picking one needs a terminal. Use --continue for the latest one,"
                " or --session <id>; `pi sessions` lists them.",
            ) from None

    def _find_named(
        self, sessions: SavedSessions, query: str, *, must_exist: bool = False
    ) -> SessionLog:
        session_log = sessions.named(query, self._confirm, must_exist=must_exist)
        if session_log is None:
            raise OpenCancelled("")
        return session_log

    def _breadcrumb(self) -> Breadcrumb | None:
        key = self._terminal()
        return None if key is None else find_breadcrumb(self._agent_dir, key)

    def _terminal(self) -> str | None:
        tty = None
        if sys.stdin is not None and sys.stdin.isatty() and hasattr(os, "ttyname"):
            with suppress(OSError):  # in a container a terminal may have no name
                tty = os.ttyname(sys.stdin.fileno())
        return terminal_key(self._environ, tty=tty, shell_pid=os.getppid())

"""Which session the command line means."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.cli.arguments import Arguments
from pi.coding.session import forking
from pi.coding.session.breadcrumbs import (
    Breadcrumb,
    find_breadcrumb,
    leave_breadcrumb,
    terminal_key,
)
from pi.coding.session.catalog import SessionCatalog
from pi.coding.session.log import SessionLog
from pi.coding.session.naming import session_directory
from pi.coding.session.opening import Shelf, new_session, open_session
from pi.coding.session.resolving import (
    Elsewhere,
    check_persistent,
    find_by_id,
    new_id_warning,
    resolve_session,
    session_to_continue,
)


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
        arguments = self._arguments
        for name in ("session", "session_id", "continue"):
            if name in arguments.options:
                check_persistent(shelf.directory, f"--{name.replace('_', '-')}")
        catalog = SessionCatalog(self._agent_dir, custom=self._custom(shelf))
        if (wanted := arguments.text("fork")) is not None:
            return forking.fork_file(self._source(wanted, catalog, shelf), shelf)
        if (wanted := arguments.text("session")) is not None:
            return self._named(wanted, catalog, shelf)
        if (id := arguments.text("session_id")) is not None:
            return self._by_id(id, catalog, shelf)
        if arguments.switch("continue"):
            last = session_to_continue(catalog, shelf.cwd, self._breadcrumb())
            return open_session(last, shelf) if last else new_session(shelf)
        return new_session(shelf)

    def remember(self, log_file: Path | None, cwd: Path, clock: Clock) -> None:
        """Let ``--continue`` in this terminal find the session again."""
        key = self._terminal()
        if key is not None and log_file is not None:
            crumb = Breadcrumb(cwd=str(cwd), session=str(log_file))
            leave_breadcrumb(self._agent_dir, key, crumb, clock)

    def _custom(self, shelf: Shelf) -> Path | None:
        """The folder of all sessions, if somebody chose one."""
        usual = session_directory(self._agent_dir, shelf.cwd)
        return None if shelf.directory == usual else shelf.directory

    def _named(self, wanted: str, catalog: SessionCatalog, shelf: Shelf) -> SessionLog:
        found = resolve_session(wanted, catalog, shelf.cwd)
        if isinstance(found, Elsewhere):
            where = found.session.facts.cwd
            if not self._confirm(
                f"Session found in another project: {where}\n"
                "Fork this session into current directory? [y/N] "
            ):
                raise Declined("")
            return forking.fork_file(found.session.path, shelf)
        return open_session(found.path, shelf)

    def _source(self, wanted: str, catalog: SessionCatalog, shelf: Shelf) -> Path:
        found = resolve_session(wanted, catalog, shelf.cwd)
        return found.session.path if isinstance(found, Elsewhere) else found.path

    def _by_id(self, id: str, catalog: SessionCatalog, shelf: Shelf) -> SessionLog:
        path = find_by_id(id, catalog, shelf.cwd)
        if path is not None:
            return open_session(path, shelf)
        self._report(f"Warning: {new_id_warning(id)}")
        return new_session(shelf, id=id)

    def _breadcrumb(self) -> Breadcrumb | None:
        key = self._terminal()
        return None if key is None else find_breadcrumb(self._agent_dir, key)

    def _terminal(self) -> str | None:
        tty = None
        if sys.stdin is not None and sys.stdin.isatty() and hasattr(os, "ttyname"):
            tty = os.ttyname(sys.stdin.fileno())
        return terminal_key(self._environ, tty=tty, shell_pid=os.getppid())

"""Finds saved sessions for the options of the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pi.coding.session.catalog import SessionCatalog
from pi.coding.session.errors import SessionProblem
from pi.coding.session.file_operations import fork_file
from pi.coding.session.log import SessionLog
from pi.coding.session.lookup import (
    OtherDirectoryMatch,
    find_by_id,
    new_id_warning,
    resolve_session,
    session_to_continue,
)
from pi.coding.session.opening import (
    Breadcrumb,
    SessionLocation,
    new_session,
    open_or_create,
    open_session,
    reserve_id,
)
from pi.coding.session.writing import session_directory


class SavedSessions:
    """Sessions of the current folder first, then all others."""

    def __init__(self, agent_dir: Path, location: SessionLocation) -> None:
        usual = session_directory(agent_dir, location.cwd)
        self._location = location
        self._catalog = SessionCatalog(
            agent_dir, custom=None if location.directory == usual else location.directory
        )

    def forked(self, query: str, *, id: str | None = None) -> SessionLog:
        """Returns a copy of a session, with a given id or a new one."""
        found = resolve_session(query, self._catalog, self._location.cwd)
        path = found.session.path if isinstance(found, OtherDirectoryMatch) else found.path
        if id is None:
            return fork_file(path, self._location)
        lock = reserve_id(id, self._location)
        if (existing := self._find(id)) is not None:
            if lock is not None:
                lock.__exit__()
            raise SessionProblem(
                f"The session id {id!r} already exists: {existing}",
                hint="Choose another id for the fork, or open that session with --session-id.",
            )
        return fork_file(path, self._location, id=id, id_lock=lock)

    def named(
        self, query: str, confirm: Callable[[str], bool], *, must_exist: bool = False
    ) -> SessionLog | None:
        """Returns a session, or a copy of one of another project; ``None`` if the user declines."""
        cwd = self._location.cwd
        found = resolve_session(query, self._catalog, cwd, must_exist=must_exist)
        if not isinstance(found, OtherDirectoryMatch):
            return open_session(found.path, self._location)
        if not confirm(
            f"Session found in another project: {found.session.summary.cwd}\n"
            "Fork this session into current directory? [y/N] "
        ):
            return None
        return fork_file(found.session.path, self._location)

    def by_id(self, id: str, report: Callable[[str], None]) -> SessionLog:
        """Returns the session with exactly that id; creates it if it does not exist."""
        log = open_or_create(id, lambda: self._find(id), self._location)
        if not log.is_saved:
            report(f"Warning: {new_id_warning(id)}")
        return log

    def _find(self, id: str) -> Path | None:
        return find_by_id(id, self._catalog, self._location.cwd)

    def last(self, breadcrumb: Breadcrumb | None) -> SessionLog:
        """Returns the session last open in this terminal, or else in any.

        A new one if there is none.
        """
        last = session_to_continue(self._catalog, self._location.cwd, breadcrumb)
        return open_session(last, self._location) if last else new_session(self._location)

"""Sessions that there are already, found by what the command line says of them."""

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
from pi.coding.session.naming import session_directory
from pi.coding.session.opening import (
    Breadcrumb,
    SessionLocation,
    new_session,
    open_or_create,
    open_session,
    reserve_id,
)


class SavedSessions:
    """Those of the shelf's folder first, then all others."""

    def __init__(self, agent_dir: Path, shelf: SessionLocation) -> None:
        usual = session_directory(agent_dir, shelf.cwd)
        self._shelf = shelf
        self._catalog = SessionCatalog(
            agent_dir, custom=None if shelf.directory == usual else shelf.directory
        )

    def forked(self, wanted: str, *, id: str | None = None) -> SessionLog:
        """A copy of a session, with a given id or a new one."""
        found = resolve_session(wanted, self._catalog, self._shelf.cwd)
        path = found.session.path if isinstance(found, OtherDirectoryMatch) else found.path
        if id is None:
            return fork_file(path, self._shelf)
        lock = reserve_id(id, self._shelf)
        if (existing := self._find(id)) is not None:
            if lock is not None:
                lock.__exit__()
            raise SessionProblem(
                f"The session id {id!r} is taken: {existing}",
                hint="Choose another id for the fork, or open that session with --session-id.",
            )
        return fork_file(path, self._shelf, id=id, id_lock=lock)

    def named(
        self, wanted: str, confirm: Callable[[str], bool], *, must_exist: bool = False
    ) -> SessionLog | None:
        """A session, or a copy of one of another project; ``None`` if that is not wanted."""
        cwd = self._shelf.cwd
        found = resolve_session(wanted, self._catalog, cwd, must_exist=must_exist)
        if not isinstance(found, OtherDirectoryMatch):
            return open_session(found.path, self._shelf)
        if not confirm(
            f"Session found in another project: {found.session.facts.cwd}\n"
            "Fork this session into current directory? [y/N] "
        ):
            return None
        return fork_file(found.session.path, self._shelf)

    def by_id(self, id: str, report: Callable[[str], None]) -> SessionLog:
        """The session with exactly that id, which is a new one if there is none."""
        log = open_or_create(id, lambda: self._find(id), self._shelf)
        if not log.is_saved:
            report(f"Warning: {new_id_warning(id)}")
        return log

    def _find(self, id: str) -> Path | None:
        return find_by_id(id, self._catalog, self._shelf.cwd)

    def last(self, breadcrumb: Breadcrumb | None) -> SessionLog:
        """The session that this terminal, or else anybody, had open last; a new one if none."""
        last = session_to_continue(self._catalog, self._shelf.cwd, breadcrumb)
        return open_session(last, self._shelf) if last else new_session(self._shelf)

"""``SessionManager``: a session file for embedding programs, with the names of the original pi.

Directories, settings and trust are resolved as for a session of pi; the operations themselves are
in ``pi.coding.session``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self, TypeAlias

from msgspec import UNSET

from pi.base.files import expand_home
from pi.coding.runtime.session_places import session_catalog, session_location, working_directory
from pi.coding.session import file_operations, opening
from pi.coding.session.catalog import ListedSession, SessionCatalog
from pi.coding.session.context import SessionContext, build_session_context
from pi.coding.session.entries import BranchSummary, Entry, KnownEntry, SessionHeader
from pi.coding.session.log import SessionLog
from pi.coding.session.lookup import find_by_id, session_to_continue
from pi.coding.session.opening import SessionLocation
from pi.coding.session.summaries import read_header
from pi.coding.session.views import TreeNode, session_tree

ROOT = "root"
"""``from_id`` of a branch summary if the abandoned branch had no entry."""

Entries: TypeAlias = list[Entry]
Listed: TypeAlias = list[ListedSession]
Nodes: TypeAlias = list[TreeNode]
# Aliases outside of the class, where ``list`` is a method.


class SessionManager:
    """An open session: a log of entries that form a tree, and its file.

    ``cwd`` is a working directory, by default the current one, or a location that
    ``session_location`` returned. ``session_dir`` and ``agent_dir`` override those of environment
    and settings. All methods read files and block.
    """

    def __init__(self, log: SessionLog, location: SessionLocation) -> None:
        self.log = log
        self._location = location

    @classmethod
    def create(
        cls,
        cwd: Path | str | SessionLocation | None = None,
        session_dir: Path | str | None = None,
        *,
        agent_dir: Path | str | None = None,
        id: str | None = None,
        parent_session: str | None = None,
    ) -> Self:
        """Create a session; in memory if the location has no directory."""
        location = _location(cwd, session_dir, agent_dir)
        return cls(opening.new_session(location, id=id, parent=parent_session), location)

    @classmethod
    def in_memory(cls, cwd: Path | str = ".") -> Self:
        """Create a session without a file."""
        location = SessionLocation(directory=None, cwd=str(working_directory(cwd)), report=_ignore)
        return cls.create(location)

    @classmethod
    def open(
        cls,
        path: Path | str,
        session_dir: Path | str | SessionLocation | None = None,
        *,
        agent_dir: Path | str | None = None,
    ) -> Self:
        """Open the session in a file, or create one there.

        New sessions that are created from it are stored in ``session_dir``, else beside the file.
        """
        file = expand_home(path).absolute()
        if isinstance(session_dir, SessionLocation):
            location = session_dir
        else:
            location = _location(_home(file), session_dir or file.parent, agent_dir)
        return cls(opening.open_session(file, location), location)

    @classmethod
    def fork_from(
        cls,
        path: Path | str,
        cwd: Path | str | SessionLocation | None = None,
        session_dir: Path | str | None = None,
        *,
        agent_dir: Path | str | None = None,
    ) -> Self:
        """Create a session of ``cwd`` with all entries of a file."""
        location = _location(cwd, session_dir, agent_dir)
        return cls(file_operations.fork_file(expand_home(path).absolute(), location), location)

    @classmethod
    def continue_recent(
        cls,
        cwd: Path | str | SessionLocation | None = None,
        session_dir: Path | str | None = None,
        *,
        agent_dir: Path | str | None = None,
    ) -> Self:
        """Open the session of ``cwd`` that was used last, or create one."""
        location = _location(cwd, session_dir, agent_dir)
        last = session_to_continue(_catalog(location, agent_dir), location.cwd)
        return (
            cls.create(location)
            if last is None
            else cls(opening.open_session(last, location), location)
        )

    @staticmethod
    def list(
        cwd: Path | str | SessionLocation | None = None,
        session_dir: Path | str | None = None,
        *,
        agent_dir: Path | str | None = None,
    ) -> Listed:
        """Return the sessions of a working directory, the most recently used first."""
        location = _location(cwd, session_dir, agent_dir)
        return _catalog(location, agent_dir).in_directory(location.cwd)

    @staticmethod
    def list_all(
        session_dir: Path | str | None = None, *, agent_dir: Path | str | None = None
    ) -> Listed:
        """Return the sessions of all working directories."""
        return session_catalog(agent_dir, session_dir=session_dir).in_all_directories()

    @staticmethod
    def find_by_id(
        id: str,
        cwd: Path | str | SessionLocation | None = None,
        session_dir: Path | str | None = None,
        *,
        agent_dir: Path | str | None = None,
    ) -> Path | None:
        """Return the file of the session of ``cwd`` with exactly this id, or ``None``."""
        location = _location(cwd, session_dir, agent_dir)
        return find_by_id(id, _catalog(location, agent_dir), location.cwd)

    def get_cwd(self) -> str:
        """Return the working directory of the session."""
        return self.log.header.cwd

    def get_session_dir(self) -> Path | None:
        """Return the directory of new sessions; ``None`` in memory."""
        return self._location.directory

    def get_session_id(self) -> str:
        """Return the id of the session."""
        return self.log.header.id

    def get_session_file(self) -> Path | None:
        """Return the session file; ``None`` in memory."""
        return self.log.file

    def get_session_name(self) -> str | None:
        """Return the name of the session."""
        return self.log.name

    def get_header(self) -> SessionHeader:
        """Return the header of the file."""
        return self.log.header

    def get_leaf_id(self) -> str | None:
        """Return the id of the leaf, which the next entry will follow, or ``None``."""
        return self.log.leaf_id

    def get_leaf_entry(self) -> Entry | None:
        """Return the leaf, which the next entry will follow, or ``None``."""
        return None if self.log.leaf is None else self.log.at(self.log.leaf)

    def get_entry(self, id: str) -> Entry | None:
        """Return the entry with that id, or ``None``."""
        return self.log.entry(id) if id in self.log.tree else None

    def get_entries(self) -> Entries:
        """Return all entries in file order."""
        return list(self.log.entries())

    def get_branch(self) -> Entries:
        """Return the entries from the root to the leaf."""
        return list(self.log.branch())

    def get_label(self, id: str) -> str | None:
        """Return the label of an entry, or ``None``."""
        return self.log.labels[id].label if id in self.log.labels else None

    def get_tree(self) -> Nodes:
        """Return the roots of the tree."""
        return session_tree(self.log)

    def build_session_context(self) -> SessionContext:
        """Return the model's context at the leaf."""
        return build_session_context(self.log)

    def append(self, draft: KnownEntry) -> KnownEntry:
        """Append an entry after the leaf; returns it as stored."""
        return self.log.append(draft)

    def branch(self, id: str) -> None:
        """Move the leaf to an entry."""
        self.log.move_to(id)

    def reset_leaf(self) -> None:
        """Append the next entry as a root."""
        self.log.move_to(None)

    def branch_with_summary(
        self,
        id: str | None,
        summary: str,
        *,
        details: Any = UNSET,
        from_hook: bool = False,
    ) -> KnownEntry:
        """Move the leaf to another entry and append a summary of the abandoned branch."""
        old_leaf = self.log.leaf_id or ROOT
        self.log.move_to(id)
        return self.log.append(
            BranchSummary(from_id=old_leaf, summary=summary, details=details, from_hook=from_hook)
        )

    def create_branched_session(self, leaf_id: str) -> Self:
        """Create a session from the path to an entry."""
        return type(self)(
            file_operations.fork_at(self.log, leaf_id, self._location), self._location
        )

    def close(self) -> None:
        """Release the lock on the session."""
        self.log.close()


def _location(
    cwd: Path | str | SessionLocation | None,
    session_dir: Path | str | None,
    agent_dir: Path | str | None,
) -> SessionLocation:
    if isinstance(cwd, SessionLocation):
        return cwd
    return session_location(cwd, agent_dir, session_dir=session_dir)


def _catalog(location: SessionLocation, agent_dir: Path | str | None) -> SessionCatalog:
    """Return the catalogue of the sessions of a location."""
    return session_catalog(agent_dir, cwd=location.cwd, session_dir=location.directory)


def _home(file: Path) -> Path | None:
    """Return the working directory of the session in ``file``; ``None`` for a new session."""
    try:
        header = read_header(file)
    except OSError:
        return None
    stored = str((header or {}).get("cwd") or "")
    return Path(stored) if stored else None


def _ignore(text: str) -> None:
    """Discard a message: a session in memory writes no file that could fail."""

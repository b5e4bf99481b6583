"""``SessionManager``: one session under the names that the specification gives.

Directories, settings and trust are found as a session of pi finds them; what to do with the session
itself is handed over to the parts of ``pi.coding.session``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self, TypeAlias

from msgspec import UNSET

from pi.base.files import expand_home
from pi.coding.runtime.session_places import directory_given, session_catalog, session_location
from pi.coding.session import file_operations, opening
from pi.coding.session.catalog import ListedSession, SessionCatalog, read_header
from pi.coding.session.context import SessionContext, build_session_context
from pi.coding.session.entries import BranchSummary, Entry, KnownEntry, SessionHeader
from pi.coding.session.log import SessionLog
from pi.coding.session.lookup import find_by_id, session_to_continue
from pi.coding.session.opening import SessionLocation
from pi.coding.session.views import TreeNode, session_tree

ROOT = "root"
"""What a branch summary names when the branch that was left had no entry."""

Entries: TypeAlias = list[Entry]
Listed: TypeAlias = list[ListedSession]
Nodes: TypeAlias = list[TreeNode]
# Named outside the class, where ``list`` is a method.


class SessionManager:
    """A session that is open: a log of entries that form a tree, and its file.

    ``cwd`` is a working directory, the current one if it is left out, or what ``session_location``
    returns for one. ``session_dir`` and ``agent_dir`` are used in place of those that the
    environment and the settings name. Everything reads files and blocks meanwhile.
    """

    def __init__(self, log: SessionLog, shelf: SessionLocation) -> None:
        self.log = log
        self._shelf = shelf

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
        """A new session; in memory, if the shelf has no directory."""
        shelf = _shelf(cwd, session_dir, agent_dir)
        return cls(opening.new_session(shelf, id=id, parent=parent_session), shelf)

    @classmethod
    def in_memory(cls, cwd: Path | str = ".") -> Self:
        """A new session without a file."""
        shelf = SessionLocation(directory=None, cwd=str(directory_given(cwd)), report=_ignore)
        return cls.create(shelf)

    @classmethod
    def open(
        cls,
        path: Path | str,
        session_dir: Path | str | SessionLocation | None = None,
        *,
        agent_dir: Path | str | None = None,
    ) -> Self:
        """The session in a file, or a new one that will be kept there.

        New sessions that come of it are kept in ``session_dir``, else beside the file.
        """
        file = expand_home(path).absolute()
        if isinstance(session_dir, SessionLocation):
            shelf = session_dir
        else:
            shelf = _shelf(_home(file), session_dir or file.parent, agent_dir)
        return cls(opening.open_session(file, shelf), shelf)

    @classmethod
    def fork_from(
        cls,
        path: Path | str,
        cwd: Path | str | SessionLocation | None = None,
        session_dir: Path | str | None = None,
        *,
        agent_dir: Path | str | None = None,
    ) -> Self:
        """A new session of ``cwd`` with all entries of a file."""
        shelf = _shelf(cwd, session_dir, agent_dir)
        return cls(file_operations.fork_file(expand_home(path).absolute(), shelf), shelf)

    @classmethod
    def continue_recent(
        cls,
        cwd: Path | str | SessionLocation | None = None,
        session_dir: Path | str | None = None,
        *,
        agent_dir: Path | str | None = None,
    ) -> Self:
        """The session of ``cwd`` that was used last, or a new one."""
        shelf = _shelf(cwd, session_dir, agent_dir)
        last = session_to_continue(_catalog(shelf, agent_dir), shelf.cwd)
        return cls.create(shelf) if last is None else cls(opening.open_session(last, shelf), shelf)

    @staticmethod
    def list(
        cwd: Path | str | SessionLocation | None = None,
        session_dir: Path | str | None = None,
        *,
        agent_dir: Path | str | None = None,
    ) -> Listed:
        """The sessions of a working directory, the one that was used last first."""
        shelf = _shelf(cwd, session_dir, agent_dir)
        return _catalog(shelf, agent_dir).in_directory(shelf.cwd)

    @staticmethod
    def list_all(
        session_dir: Path | str | None = None, *, agent_dir: Path | str | None = None
    ) -> Listed:
        """The sessions of all working directories."""
        return session_catalog(agent_dir, session_dir=session_dir).in_all_directories()

    @staticmethod
    def find_by_id(
        id: str,
        cwd: Path | str | SessionLocation | None = None,
        session_dir: Path | str | None = None,
        *,
        agent_dir: Path | str | None = None,
    ) -> Path | None:
        """The file of the session of ``cwd`` with exactly this id, if there is one."""
        shelf = _shelf(cwd, session_dir, agent_dir)
        return find_by_id(id, _catalog(shelf, agent_dir), shelf.cwd)

    def get_cwd(self) -> str:
        """The working directory that the session belongs to."""
        return self.log.header.cwd

    def get_session_dir(self) -> Path | None:
        """Where new sessions are kept; ``None``: in memory."""
        return self._shelf.directory

    def get_session_id(self) -> str:
        """The id of the session."""
        return self.log.header.id

    def get_session_file(self) -> Path | None:
        """Where the session is kept; ``None``: in memory."""
        return self.log.file

    def get_session_name(self) -> str | None:
        """What the session is called."""
        return self.log.name

    def get_header(self) -> SessionHeader:
        """The first line of the file."""
        return self.log.header

    def get_leaf_id(self) -> str | None:
        """The entry that the next one follows."""
        return self.log.leaf_id

    def get_leaf_entry(self) -> Entry | None:
        """That entry."""
        return None if self.log.leaf is None else self.log.at(self.log.leaf)

    def get_entry(self, id: str) -> Entry | None:
        """The entry of that id, if there is one."""
        return self.log.entry(id) if id in self.log.tree else None

    def get_entries(self) -> Entries:
        """All entries in the order of the file."""
        return list(self.log.entries())

    def get_branch(self) -> Entries:
        """The entries from the root to the leaf."""
        return list(self.log.branch())

    def get_label(self, id: str) -> str | None:
        """The label of an entry."""
        return self.log.labels[id].label if id in self.log.labels else None

    def get_tree(self) -> Nodes:
        """The roots of the tree."""
        return session_tree(self.log)

    def build_session_context(self) -> SessionContext:
        """What the model is shown at the leaf."""
        return build_session_context(self.log)

    def append(self, draft: KnownEntry) -> KnownEntry:
        """Add an entry after the leaf."""
        return self.log.append(draft)

    def branch(self, id: str) -> None:
        """Let the next entry follow this one."""
        self.log.move_to(id)

    def reset_leaf(self) -> None:
        """Let the next entry be a root."""
        self.log.move_to(None)

    def branch_with_summary(
        self,
        id: str | None,
        summary: str,
        *,
        details: Any = UNSET,
        from_hook: bool = False,
    ) -> KnownEntry:
        """Go on after another entry, with notes on the branch that is left."""
        left = self.log.leaf_id or ROOT
        self.log.move_to(id)
        return self.log.append(
            BranchSummary(from_id=left, summary=summary, details=details, from_hook=from_hook)
        )

    def create_branched_session(self, leaf_id: str) -> Self:
        """The path to an entry as a session of its own."""
        return type(self)(file_operations.fork_at(self.log, leaf_id, self._shelf), self._shelf)

    def close(self) -> None:
        """Let others write to the session."""
        self.log.close()


def _shelf(
    cwd: Path | str | SessionLocation | None,
    session_dir: Path | str | None,
    agent_dir: Path | str | None,
) -> SessionLocation:
    if isinstance(cwd, SessionLocation):
        return cwd
    return session_location(cwd, agent_dir, session_dir=session_dir)


def _catalog(shelf: SessionLocation, agent_dir: Path | str | None) -> SessionCatalog:
    """The list of the sessions that a shelf holds, whichever folder that is."""
    return session_catalog(agent_dir, cwd=shelf.cwd, session_dir=shelf.directory)


def _home(file: Path) -> Path | None:
    """The working directory of the session in ``file``; ``None`` for a session that is new."""
    try:
        header = read_header(file)
    except OSError:
        return None
    stored = str((header or {}).get("cwd") or "")
    return Path(stored) if stored else None


def _ignore(text: str) -> None:
    """Without a file no file can fail."""

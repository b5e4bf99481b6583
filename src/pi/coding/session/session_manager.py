"""``SessionManager``: one session under the names that the specification gives.

Nothing is done here: every method hands over to the part that does it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from pi.base.records import UNSET
from pi.coding.session import forking, opening
from pi.coding.session.breadcrumbs import Breadcrumb
from pi.coding.session.catalog import ListedSession, SessionCatalog
from pi.coding.session.context import SessionContext, build_session_context
from pi.coding.session.entries import BranchSummary, Entry, KnownEntry, SessionHeader
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import Shelf
from pi.coding.session.resolving import session_to_continue
from pi.coding.session.tree_view import TreeNode, session_tree

ROOT = "root"
"""What a branch summary names when the branch that was left had no entry."""


class SessionManager:
    """A session that is open: a log of entries that form a tree, and its file."""

    def __init__(self, log: SessionLog, shelf: Shelf) -> None:
        self.log = log
        self._shelf = shelf

    @classmethod
    def create(
        cls, shelf: Shelf, *, id: str | None = None, parent_session: str | None = None
    ) -> Self:
        """A new session; in memory, if the shelf has no directory."""
        return cls(opening.new_session(shelf, id=id, parent=parent_session), shelf)

    @classmethod
    def in_memory(cls, cwd: Path | str = ".") -> Self:
        """A new session that no file keeps."""
        return cls.create(Shelf(directory=None, cwd=str(Path(cwd).absolute()), report=_keep_quiet))

    @classmethod
    def open(cls, path: Path, shelf: Shelf) -> Self:
        """The session in a file, or a new one that will be kept there."""
        return cls(opening.open_session(path, shelf), shelf)

    @classmethod
    def fork_from(cls, path: Path, shelf: Shelf) -> Self:
        """A new session with all entries of a file."""
        return cls(forking.fork_file(path, shelf), shelf)

    @classmethod
    def continue_recent(
        cls, catalog: SessionCatalog, shelf: Shelf, crumb: Breadcrumb | None = None
    ) -> Self:
        """The session that was used last, in this terminal if it is known; else a new one."""
        last = session_to_continue(catalog, shelf.cwd, crumb)
        return cls.create(shelf) if last is None else cls.open(last, shelf)

    @staticmethod
    def list_sessions(catalog: SessionCatalog, cwd: str) -> list[ListedSession]:
        """The sessions of a working directory, the one that was used last first."""
        return catalog.of_project(cwd)

    @staticmethod
    def list_all(catalog: SessionCatalog) -> list[ListedSession]:
        """The sessions of all working directories."""
        return catalog.everywhere()

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

    def get_entries(self) -> list[Entry]:
        """All entries in the order of the file."""
        return list(self.log.entries())

    def get_branch(self) -> list[Entry]:
        """The entries from the root to the leaf."""
        return list(self.log.branch())

    def get_label(self, id: str) -> str | None:
        """The label of an entry."""
        return self.log.labels[id].label if id in self.log.labels else None

    def get_tree(self) -> list[TreeNode]:
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
        return type(self)(forking.fork_at(self.log, leaf_id, self._shelf), self._shelf)

    def close(self) -> None:
        """Let others write to the session."""
        self.log.close()


def _keep_quiet(text: str) -> None:
    """Without a file no file can fail."""

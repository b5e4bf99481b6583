"""The session as extensions read it: the names of ``SessionManager``, without its changes."""

from __future__ import annotations

from collections.abc import Sequence

from pi.coding.extension_host.link import Link
from pi.coding.session.context import SessionContext, build_session_context
from pi.coding.session.entries import Entry, SessionHeader
from pi.coding.session.log import SessionLog
from pi.coding.session.tree_view import TreeNode, session_tree


class SessionReader:
    """Entries, tree and facts of the session as they are now."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def get_cwd(self) -> str:
        """The working directory that the session belongs to."""
        return self._log.header.cwd

    def get_session_dir(self) -> str | None:
        """The folder of its file; ``None`` in memory."""
        file = self._log.file
        return None if file is None else str(file.parent)

    def get_session_id(self) -> str:
        """The id of the session."""
        return self._log.header.id

    def get_session_file(self) -> str | None:
        """Where it is kept; ``None`` in memory."""
        file = self._log.file
        return None if file is None else str(file)

    def get_session_name(self) -> str | None:
        """What it is called."""
        return self._log.name

    def get_header(self) -> SessionHeader:
        """The first line of the file."""
        return self._log.header

    def get_leaf_id(self) -> str | None:
        """The entry that the next one follows."""
        return self._log.leaf_id

    def get_leaf_entry(self) -> Entry | None:
        """That entry."""
        log = self._log
        return None if log.leaf is None else log.at(log.leaf)

    def get_entry(self, id: str) -> Entry | None:
        """The entry of that id, if there is one."""
        log = self._log
        return log.entry(id) if id in log.tree else None

    def get_entries(self) -> Sequence[Entry]:
        """All entries in the order of the file."""
        return list(self._log.entries())

    def get_branch(self) -> Sequence[Entry]:
        """The entries from the root to the leaf."""
        return list(self._log.branch())

    def get_label(self, id: str) -> str | None:
        """The label of an entry."""
        labels = self._log.labels
        return labels[id].label if id in labels else None

    def get_tree(self) -> Sequence[TreeNode]:
        """The roots of the tree."""
        return session_tree(self._log)

    def build_context_entries(self) -> Sequence[Entry]:
        """The entries that what the model is shown is made of."""
        return self.get_branch()

    def build_session_projection(self) -> SessionContext:
        """What the model is shown at the leaf, and who answers there."""
        return build_session_context(self._log)

    @property
    def _log(self) -> SessionLog:
        return self._link.session.talk.log

"""What entries say about others and about the session: labels and the name.

The last word counts, in the order of the file, whatever branch it is on.
"""

from __future__ import annotations

from collections.abc import Mapping

from pi.base.records import Record
from pi.coding.session.entries import Entry, Label, SessionInfo
from pi.coding.session.naming import clean_name

ANNOTATING = frozenset({"label", "session_info"})
"""The types of the entries that say something."""


class Bookmark(Record):
    """A label as it is now."""

    label: str
    timestamp: str
    """When it was set."""


class Annotations:
    """Labels by the id of the entry that they are on, and the session's name."""

    def __init__(self) -> None:
        self._labels: dict[str, Bookmark] = {}
        self.name: str | None = None

    @property
    def labels(self) -> Mapping[str, Bookmark]:
        """All labels; the one that was set last comes last."""
        return self._labels

    def read(self, entry: Entry) -> None:
        """Take in what an entry says."""
        match entry:
            case Label(target_id=target, label=label):
                self._labels.pop(target, None)
                if isinstance(label, str) and (shown := clean_name(label)):
                    self._labels[target] = Bookmark(label=shown, timestamp=entry.timestamp)
            case SessionInfo(name=name):
                self.name = (clean_name(name) if isinstance(name, str) else "") or None

"""Points, changes and restorations of a project."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from pi.batteries.rewind.states import FileState
from pi.extension import Record

Author: TypeAlias = Literal["tool", "command", "user", "outside", "rewind"]
"""What changed files: a tool that writes files, a command or another call of the model, a command
of the user, another program or session, or a restoration."""
Scope: TypeAlias = Literal["both", "files", "conversation"]
"""Which part is restored."""


class PathChange(Record):
    """The states of a path before and after a change; ``None``: it did not exist."""

    path: str
    """Relative to the project; absolute outside of it."""
    old: FileState | None
    new: FileState | None


class Point(Record):
    """A state that can be restored: before a prompt, or before a restoration."""

    id: str
    time_ms: int
    prompt: str = ""
    """The beginning of the prompt."""
    saved_by: str = ""
    """Id of the restoration before which it was saved; empty for a point before a prompt."""
    leaf: str = ""
    """Id of the last entry of the conversation; only with ``saved_by``."""


class Change(Record):
    """Files that changed together."""

    time_ms: int
    by: Author
    files: tuple[PathChange, ...]
    what: str = ""
    """The tool or the command."""


class Restoration(Record):
    """A completed restoration."""

    id: str
    time_ms: int
    to: str
    """Id of the restored point."""
    saved: str
    """Id of the point with the state before the restoration."""
    kind: Literal["rewind", "redo"]
    scope: Scope
    files: tuple[PathChange, ...]


Event: TypeAlias = Point | Change | Restoration


class Timeline:
    """The events of a journal. Pure."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.events = list(events)

    def point(self, id: str) -> Point | None:
        """The point with that id, or ``None``."""
        points = (event for event in self.events if isinstance(event, Point) and event.id == id)
        return next(points, None)

    def points(self) -> list[Point]:
        """All points, the oldest first."""
        return [event for event in self.events if isinstance(event, Point)]

    def since(self, point: Point) -> list[Change | Restoration]:
        """The changes after a point."""
        start = self._index(point)
        return [event for event in self.events[start:] if not isinstance(event, Point)]

    def states_at(self, point: Point) -> dict[str, FileState | None]:
        """The states at a point of all paths that changed since then."""
        states: dict[str, FileState | None] = {}
        for change in self.since(point):
            for file in change.files:
                states.setdefault(file.path, file.old)
        return states

    def authors_since(self, point: Point) -> dict[str, set[Author]]:
        """The authors of the changes of each path after a point."""
        authors: dict[str, set[Author]] = {}
        for change in self.since(point):
            by: Author = change.by if isinstance(change, Change) else "rewind"
            for file in change.files:
                authors.setdefault(file.path, set()).add(by)
        return authors

    def last_states(self) -> dict[str, FileState | None]:
        """The state of every path in the journal after its last change."""
        changes = (event for event in self.events if not isinstance(event, Point))
        return {file.path: file.new for change in changes for file in change.files}

    def redo(self) -> Restoration | None:
        """The rewind that ``/redo`` reverts: the last one that was not redone, since the prompt."""
        undone: list[Restoration] = []
        for event in self.events:
            if isinstance(event, Point) and not event.saved_by:
                undone.clear()
            elif isinstance(event, Restoration) and event.kind == "rewind":
                undone.append(event)
            elif isinstance(event, Restoration) and undone:
                undone.pop()
        return undone[-1] if undone else None

    def hashes(self) -> set[str]:
        """Hashes of the saved contents that the journal refers to."""
        changes = (event for event in self.events if not isinstance(event, Point))
        states = (state for c in changes for file in c.files for state in (file.old, file.new))
        return {s.hash for s in states if s is not None and s.kind == "file" and s.is_saved}

    def without_oldest_half(self) -> list[Event] | None:
        """The events since the middle point; ``None`` with fewer than two points."""
        points = self.points()
        if len(points) < 2:
            return None
        middle = points[(len(points) + 1) // 2]
        return self.events[self._index(middle) :]

    def _index(self, point: Point) -> int:
        is_point = (isinstance(event, Point) and event.id == point.id for event in self.events)
        return next(index for index, is_same in enumerate(is_point) if is_same)

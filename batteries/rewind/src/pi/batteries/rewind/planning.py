"""Plans a restoration: files that differ from a point, and those that cannot be restored.

Nothing is changed. ``restoring`` performs a plan.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from pi.batteries.rewind.history import History
from pi.batteries.rewind.journal import Change, PathChange, Point
from pi.batteries.rewind.states import FileState
from pi.extension import Record


class PlannedFile(Record):
    """A path that differs from its state at the point."""

    path: str
    now: FileState | None
    then: FileState | None
    is_foreign: bool = False
    """Whether another program or session has changed it since the point."""
    problem: str = ""
    """Why it cannot be put back; empty if it can."""


class Plan(Record):
    """The changes of a restoration."""

    point: Point
    files: tuple[PlannedFile, ...] = ()

    def steps(self, *, foreign: bool) -> tuple[PathChange, ...]:
        """The changes to make, with or without those of files that others have changed."""
        steps = {e.path: e for e in self.files if not e.problem and (foreign or not e.is_foreign)}
        excluded = [each for each in self.files if each.path not in steps]
        # Folders that contain an excluded file stay, and no folder replaces an excluded file.
        while blocked := [each for each in steps.values() if _is_blocked(each, excluded)]:
            for each in blocked:
                del steps[each.path]
            excluded += blocked
        return tuple(
            PathChange(path=each.path, old=each.now, new=each.then) for each in steps.values()
        )

    @property
    def foreign(self) -> tuple[PlannedFile, ...]:
        """The files that others have changed."""
        return tuple(each for each in self.files if each.is_foreign and not each.problem)

    @property
    def problems(self) -> tuple[PlannedFile, ...]:
        """The files that cannot be put back."""
        return tuple(each for each in self.files if each.problem)


def _is_blocked(file: PlannedFile, excluded: Sequence[PlannedFile]) -> bool:
    if is_folder(file.now) and not is_folder(file.then):
        inside = f"{file.path}/"
        if any(each.path.startswith(inside) and each.now is not None for each in excluded):
            return True
    above = (each for each in excluded if file.path.startswith(f"{each.path}/"))
    return any(each.now is not None and each.now.kind != "folder" for each in above)


def make_plan(history: History, point: Point) -> Plan:
    """Return the changes that restore a point; call it after a capture."""
    timeline = history.journal.timeline
    then, authors = timeline.states_at(point), timeline.authors_since(point)
    foreign = _changed_by_other_sessions(history, point)
    files = [
        PlannedFile(
            path=path,
            now=now,
            then=state,
            is_foreign="outside" in authors[path] or foreign.get(path, ...) == now,
            problem=_problem(history, now, state) or _folder_problem(history, path, then),
        )
        for path, state in sorted(then.items())
        if (now := history.look(path)) != state
    ]
    return Plan(point=point, files=tuple(each for each in files if not _is_lost(history, each)))


def _is_lost(history: History, file: PlannedFile) -> bool:
    """Whether a file outside of the project was removed with its folder, e.g. a working copy."""
    path = history.path_of(file.path)
    return str(path) == file.path and file.now is None and not path.parent.is_dir()


def _changed_by_other_sessions(history: History, point: Point) -> dict[str, FileState | None]:
    """The last states that other sessions in this project wrote since a point, by path.

    If they wrote while a command of this session ran, this session's journal names that command.
    """
    found: dict[str, FileState | None] = {}
    own = {_key(each) for each in history.journal.timeline.events if isinstance(each, Change)}
    for journal in history.other_journals():
        for event in journal.timeline.events:
            if not isinstance(event, Change) or event.by == "outside":
                continue
            # The journal of a fork begins with a copy of its parent's changes: not foreign.
            if event.time_ms > point.time_ms and _key(event) not in own:
                found.update((each.path, each.new) for each in event.files)
    return found


def _key(change: Change) -> tuple[int, str, str]:
    return change.time_ms, change.what, change.files[0].path


def _problem(history: History, now: FileState | None, then: FileState | None) -> str:
    if then is not None and not then.is_saved:
        return "its content was not saved: too large, or beyond the limits"
    if then is not None and then.kind == "file" and then.hash not in history.packs:
        return "its saved content is missing"
    if now is not None and not now.is_saved:
        return "its present content cannot be saved: too large, or beyond the limits"
    return ""


def _folder_problem(history: History, path: str, then: Mapping[str, FileState | None]) -> str:
    """Why a file cannot replace the folder at its path: it contains files that are not covered."""
    state, whole = then[path], history.path_of(path)
    if state is None or state.kind == "folder" or whole.is_symlink() or not whole.is_dir():
        return ""
    for folder, folders, files in os.walk(whole):
        below = os.path.relpath(folder, history.root)
        for name in (*folders, *files):
            if f"{below}/{name}" not in then:
                return f"the folder in its place holds files that are not covered: {name}"
    return ""


def is_folder(state: FileState | None) -> bool:
    """Whether a state is that of a folder."""
    return state is not None and state.kind == "folder"

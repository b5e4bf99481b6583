"""Plans a restoration: files that differ from a point, and those that cannot be restored.

Nothing is changed. ``restoring`` performs a plan.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from pi.batteries.rewind.history import History
from pi.batteries.rewind.states import FileState
from pi.batteries.rewind.timeline import Change, PathChange, Point
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
        excluded = [file for file in self.files if file.path not in steps]
        # Folders that contain an excluded file stay, and no folder replaces an excluded file.
        while blocked := [step for step in steps.values() if _is_blocked(step, excluded)]:
            for step in blocked:
                del steps[step.path]
            excluded += blocked
        return tuple(
            PathChange(path=step.path, old=step.now, new=step.then) for step in steps.values()
        )

    @property
    def foreign(self) -> tuple[PlannedFile, ...]:
        """The files that others have changed."""
        return tuple(file for file in self.files if file.is_foreign and not file.problem)

    @property
    def problems(self) -> tuple[PlannedFile, ...]:
        """The files that cannot be put back."""
        return tuple(file for file in self.files if file.problem)


def _is_blocked(file: PlannedFile, excluded: Sequence[PlannedFile]) -> bool:
    if is_folder(file.now) and not is_folder(file.then):
        inside = f"{file.path}/"
        if any(other.path.startswith(inside) and other.now is not None for other in excluded):
            return True
    above = (other for other in excluded if file.path.startswith(f"{other.path}/"))
    return any(other.now is not None and other.now.kind != "folder" for other in above)


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
            problem=_restore_problem(history, now, state) or _folder_problem(history, path, then),
        )
        for path, state in sorted(then.items())
        if (now := history.look(path)) != state
    ]
    return Plan(point=point, files=tuple(file for file in files if not _is_lost(history, file)))


def _is_lost(history: History, file: PlannedFile) -> bool:
    """Whether a file outside of the project was removed with its folder, e.g. a working copy."""
    path = history.path_of(file.path)
    return str(path) == file.path and file.now is None and not path.parent.is_dir()


def _changed_by_other_sessions(history: History, point: Point) -> dict[str, FileState | None]:
    """The last states that other sessions in this project wrote since a point, by path.

    If they wrote while a command of this session ran, this session's journal names that command.
    """
    states: dict[str, FileState | None] = {}
    own = {_key(event) for event in history.journal.timeline.events if isinstance(event, Change)}
    for journal in history.other_journals():
        for event in journal.timeline.events:
            if not isinstance(event, Change) or event.by == "outside":
                continue
            # The journal of a fork begins with a copy of its parent's changes: not foreign.
            if event.time_ms > point.time_ms and _key(event) not in own:
                states.update((file.path, file.new) for file in event.files)
    return states


def _key(change: Change) -> tuple[int, str, str]:
    return change.time_ms, change.what, change.files[0].path


def _restore_problem(history: History, now: FileState | None, then: FileState | None) -> str:
    if then is not None and not then.is_saved:
        return "its content was not saved: too large, or beyond the limits"
    if then is not None and then.kind == "file" and then.hash not in history.packs:
        return "its saved content is missing"
    if now is not None and not now.is_saved:
        return "its present content cannot be saved: too large, or beyond the limits"
    return ""


def _folder_problem(history: History, path: str, then: Mapping[str, FileState | None]) -> str:
    """Why a file cannot replace the folder at its path: it contains files that are not covered."""
    state, absolute_path = then[path], history.path_of(path)
    if (
        state is None
        or state.kind == "folder"
        or absolute_path.is_symlink()
        or not absolute_path.is_dir()
    ):
        return ""
    for folder, folders, files in os.walk(absolute_path):
        below = os.path.relpath(folder, history.root)
        for name in (*folders, *files):
            if f"{below}/{name}" not in then:
                return f"the folder in its place holds files that are not covered: {name}"
    return ""


def is_folder(state: FileState | None) -> bool:
    """Whether a state is that of a folder."""
    return state is not None and state.kind == "folder"

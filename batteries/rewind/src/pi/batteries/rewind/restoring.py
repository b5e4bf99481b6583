"""Performs restorations, and finishes or undoes interrupted ones.

A restoration writes its intent (``restore.json``), then the files, then the journal. The contents
that it replaces were saved before, so that every restoration can be undone.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from pi.base.files import FileAccessError, replace_files
from pi.batteries.rewind import states
from pi.batteries.rewind.history import History, NotSaved
from pi.batteries.rewind.journal import decode_changes, encode_changes
from pi.batteries.rewind.planning import Plan, is_folder
from pi.batteries.rewind.states import FileState
from pi.batteries.rewind.store import read_json
from pi.batteries.rewind.timeline import PathChange, Point, Restoration, Scope
from pi.extension import PiError, Record, replace, replace_file

BATCH_FILES = 500
BATCH_BYTES = 32 * 1024 * 1024
"""Limits of a batch, which is held in memory."""


class RestoreFailed(PiError):
    """A file could not be restored. The restoration can be finished or undone."""


class Interrupted(Record):
    """A restoration that has not ended: the content of ``restore.json``."""

    restoration: Restoration
    session: str
    navigate: str = ""
    """Id of the entry that the conversation moves to after the files; empty if it stays."""
    files_done: bool = False


# Performing ---------------------------------------------------------------------------------------


def restore(
    history: History,
    plan: Plan,
    steps: Sequence[PathChange],
    *,
    kind: Literal["rewind", "redo"],
    scope: Scope,
    leaf: str,
    navigate: str = "",
) -> Restoration:
    """Restore files. ``leaf`` is the present end of the conversation, ``navigate`` its target.

    Raises ``RestoreFailed``. With ``navigate``, call ``end`` after the conversation has moved.
    """
    with history.folder.lock():
        if read_interrupted(history) is not None:
            raise RestoreFailed(
                "An earlier rewind was interrupted.", hint="/rewind recover finishes it."
            )
        id = os.urandom(4).hex()
        saved = Point(
            id=os.urandom(4).hex(),
            time_ms=history.now_ms(),
            prompt=plan.point.prompt,
            saved_by=id,
            leaf=leaf,
        )
        restoration = Restoration(
            id=id,
            time_ms=saved.time_ms,
            to=plan.point.id,
            saved=saved.id,
            kind=kind,
            scope=scope,
            files=tuple(steps),
        )
        _check(history, steps)
        history.journal.append(saved)
        intent = Interrupted(restoration=restoration, session=history.session.id, navigate=navigate)
        _write_intent(history, intent)
        history.step("intent")
        return _perform(history, intent)


def _perform(history: History, intent: Interrupted) -> Restoration:
    restoration = intent.restoration
    if not intent.files_done:
        put_all(history, restoration.files)
        history.restored(restoration.files)
        history.journal.append(restoration)
        history.step("journal")
        # After the journal: if pi is killed before, recovery writes the same files again.
        _write_intent(history, replace(intent, files_done=True))
        history.step("files")
    if not intent.navigate:
        end(history)
    return restoration


def end(history: History) -> None:
    """Mark the restoration as ended: remove ``restore.json``."""
    history.folder.restore.unlink(missing_ok=True)


def _check(history: History, steps: Iterable[PathChange]) -> None:
    """Raise ``RestoreFailed`` if a file changed since the plan was made."""
    changed = [step.path for step in steps if history.look(step.path) != step.old]
    if changed:
        raise RestoreFailed(
            f"{changed[0]} has changed meanwhile; nothing was restored.", hint="Look again."
        )


def put_all(history: History, changes: Sequence[PathChange]) -> None:
    """Change every path from ``old`` to ``new``; skips paths that are in state ``new`` already."""
    folders = [change for change in changes if is_folder(change.new)]
    for change in folders:
        if is_folder(history.look(change.path)):
            _chmod(history, change, stat.S_IRWXU)  # its files must be writable until the end
    batch = _Batch(history)
    for change in order_changes(changes):
        # ``ordered`` puts files last: no other change depends on a file that waits in the batch.
        if change.new is None or change.new.kind != "file" or not batch.add(change, change.new):
            _put(history, change)
        history.step("file")
    batch.write()
    for change in sorted(folders, key=lambda change: change.path, reverse=True):
        _chmod(history, change)  # last, inner folders first: the mode may be read-only


class _Batch:
    """Files that are written together: flushing each alone takes 75 % of a restoration's time.

    As with single files, each content is on the disk before it replaces the old file.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self._changes: list[PathChange] = []
        self._contents: dict[Path, bytes] = {}
        self._modes: dict[Path, int] = {}
        self._size = 0

    def add(self, change: PathChange, new: FileState) -> bool:
        """Add a file; returns whether it is part of the batch, or in place already."""
        history, path = self._history, self._history.path_of(change.path)
        data = history.packs.get(new.hash)
        try:
            if history.look(change.path) == new:
                return True
            _refuse_links(history, change.path)
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError:
            return False
        if data is None:
            return False
        self._changes.append(change)
        self._contents[path], self._modes[path] = data, new.mode
        self._size += len(data)
        if len(self._changes) >= BATCH_FILES or self._size >= BATCH_BYTES:
            self.write()
        return True

    def write(self) -> None:
        """Write the files. Raises ``RestoreFailed``."""
        changes, contents, modes = self._changes, self._contents, self._modes
        self._changes, self._contents, self._modes, self._size = [], {}, {}, 0
        try:
            replace_files(contents, modes=modes)
        except FileAccessError:
            for change in changes:  # one by one, so that the error names the file that fails
                _put(self._history, change)


def _chmod(history: History, change: PathChange, more: int = 0) -> None:
    assert change.new is not None
    try:
        history.path_of(change.path).chmod(change.new.mode | more)
    except OSError as error:
        raise _failure(change, error) from error


def order_changes(changes: Sequence[PathChange]) -> list[PathChange]:
    """Removals, inner paths first; then new folders, outer ones first; then files and links."""
    removed = [change for change in changes if change.new is None or _changes_kind(change)]
    inside_out = sorted(removed, key=lambda change: (is_folder(change.old), change.path.count("/")))
    files = [change for change in inside_out if not is_folder(change.old)]
    folders = [change for change in reversed(inside_out) if is_folder(change.old)]
    removals = [
        PathChange(path=change.path, old=change.old, new=None) for change in (*files, *folders)
    ]
    created = sorted(
        (change for change in changes if change.new is not None),
        key=lambda change: (not is_folder(change.new), change.path.count("/"), change.path),
    )
    return [*removals, *created]


def _changes_kind(change: PathChange) -> bool:
    return change.old is not None and change.new is not None and change.old.kind != change.new.kind


def _put(history: History, change: PathChange) -> None:
    path, new = history.path_of(change.path), change.new
    try:
        now = history.look(change.path)
        if now == new:
            return
        _refuse_links(history, change.path)
        if new is None:
            if now is not None and (change.old is None or now.kind == change.old.kind):
                _remove(path, now)
            return
        data = history.packs.get(new.hash) if new.kind == "file" else None
        if new.kind == "file" and data is None:
            raise NotSaved(f"The saved content of {change.path} is missing.")
        path.parent.mkdir(parents=True, exist_ok=True)
        states.put(path, new, data)
    except (OSError, FileAccessError) as error:
        raise _failure(change, error) from error


def _failure(change: PathChange, error: OSError | FileAccessError) -> RestoreFailed:
    why = error.message if isinstance(error, FileAccessError) else f"{error.strerror or error}."
    return RestoreFailed(
        f"Cannot restore {change.path}: {why}",
        hint="/rewind recover tries again, or takes back what was done.",
    )


def _remove(path: Path, now: FileState) -> None:
    # A folder that is not empty contains files that are not covered: it stays.
    if now.kind != "folder" or not any(path.iterdir()):
        states.remove(path, now)


def _refuse_links(history: History, name: str) -> None:
    """Raise ``OSError`` if a folder above a path is a link: the file would end up elsewhere."""
    for parent in history.path_of(name).parents:
        if parent == history.root:
            return
        if parent.is_symlink():
            raise OSError(0, f"{parent.name} is a link now")


# Recovery -----------------------------------------------------------------------------------------


def read_interrupted(history: History) -> Interrupted | None:
    """The restoration of this project that has not ended; ``None`` without one."""
    data = read_json(history.folder.restore)
    if not isinstance(data, dict):
        return None
    try:
        return Interrupted(
            restoration=Restoration(
                id=data["id"],
                time_ms=data["time"],
                to=data["to"],
                saved=data["saved"],
                kind=data["kind"],
                scope=data["scope"],
                files=decode_changes(data["files"]),
            ),
            session=data["session"],
            navigate=data["navigate"],
            files_done=data["filesDone"],
        )
    except (KeyError, TypeError, ValueError):
        return None


def _write_intent(history: History, intent: Interrupted) -> None:
    restoration = intent.restoration
    fields: dict[str, Any] = {
        "id": restoration.id,
        "time": restoration.time_ms,
        "to": restoration.to,
        "saved": restoration.saved,
        "kind": restoration.kind,
        "scope": restoration.scope,
        "files": encode_changes(restoration.files),
        "session": intent.session,
        "navigate": intent.navigate,
        "filesDone": intent.files_done,
    }
    replace_file(history.folder.restore, json.dumps(fields).encode())


def record_interrupted(history: History) -> Interrupted | None:
    """Record the changes of an interrupted restoration as such, before a capture finds them.

    Returns the restoration, also that of another session; ``None`` without one.
    """
    intent = read_interrupted(history)
    if intent is not None and intent.session == history.session.id:
        changes = history.restored(intent.restoration.files)
        history.record(changes, "rewind", "an interrupted rewind")
    return intent


def conflicts(history: History, intent: Interrupted) -> tuple[str, ...]:
    """The paths that were changed since the restoration was interrupted."""
    if intent.files_done:
        return ()
    files = intent.restoration.files
    return tuple(file.path for file in files if not _is_expected(history.look(file.path), file))


def _is_expected(now: FileState | None, change: PathChange) -> bool:
    """Whether the state of a path can result from the restoration, interrupted at any step."""
    if now is None or now in (change.old, change.new):
        return True
    modes = (state.mode | stat.S_IRWXU for state in (change.old, change.new) if state is not None)
    return now.kind == "folder" and now.mode in modes


def finish(history: History, intent: Interrupted) -> Restoration:
    """Restore the remaining files, except those that were changed since then."""
    with history.folder.lock():
        sweep_leftovers(history, intent)
        conflicting = set(conflicts(history, intent))
        files = tuple(file for file in intent.restoration.files if file.path not in conflicting)
        restoration = replace(intent.restoration, files=files)
        done = _is_journaled(history, intent)
        return _perform(history, replace(intent, restoration=restoration, files_done=done))


def undo(history: History, intent: Interrupted) -> None:
    """Undo the restoration, except for files that were changed since then."""
    with history.folder.lock():
        sweep_leftovers(history, intent)
        conflicting = set(conflicts(history, intent))
        back = [
            PathChange(path=file.path, old=file.new, new=file.old)
            for file in intent.restoration.files
            if file.path not in conflicting
        ]
        put_all(history, back)
        changes = history.restored(back)
        if _is_journaled(history, intent):  # as a redo: otherwise it could be redone once more
            undone = intent.restoration
            history.journal.append(
                replace(
                    undone,
                    id=os.urandom(4).hex(),
                    kind="redo" if undone.kind == "rewind" else "rewind",
                    to=undone.saved,
                    files=tuple(changes),
                )
            )
        else:
            history.record(changes, "rewind", "undo of an interrupted rewind")
        end(history)


def _is_journaled(history: History, intent: Interrupted) -> bool:
    """Whether the journal has the restoration already."""
    events = history.journal.timeline.events
    ids = {event.id for event in events if isinstance(event, Restoration)}
    return intent.files_done or intent.restoration.id in ids


def sweep_leftovers(history: History, intent: Interrupted) -> None:
    """Remove temporary files that a killed restoration has left in the project."""
    folders = {history.path_of(file.path).parent for file in intent.restoration.files}
    for folder in folders:
        if folder.is_dir() and not folder.is_symlink():
            for path in folder.glob(".pi-*.tmp"):
                if states.is_leftover(path.name):
                    path.unlink()

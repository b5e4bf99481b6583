"""The saved states of one project in one session.

``capture`` compares the project with its last known state and saves what is new. All methods block:
the recorder calls them in one thread, one after the other.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pi.base.locks import FileLock
from pi.batteries.rewind.journal import Journal, JournalHeader, read_header
from pi.batteries.rewind.pauses import READ, in_slices
from pi.batteries.rewind.project_files import Index, Known, encode_index, read_index
from pi.batteries.rewind.scan import Scan
from pi.batteries.rewind.scan_process import ProjectScanner
from pi.batteries.rewind.states import (
    NO_STAMP,
    UNSAVED,
    FileState,
    Reading,
    Stamp,
    read_path,
    stamp_of,
)
from pi.batteries.rewind.store import SessionSpace, Store, sweep
from pi.batteries.rewind.timeline import Author, Change, PathChange, Point
from pi.extension import PiError, Record, replace, replace_file

EVENT_BYTES = 250
"""Estimated size of one changed file in the journal."""


class Coverage(Record):
    """Which files can be restored, and which cannot."""

    files: int = 0
    bytes: int = 0
    too_large: tuple[str, ...] = ()
    over_budget: tuple[str, ...] = ()
    """Files that exceed ``maxBytes``, the size of the store, or cannot be read."""
    left_out: tuple[str, ...] = ()
    """Folders that exceed ``maxFiles``."""
    unreadable: tuple[str, ...] = ()
    """Folders that cannot be listed."""
    ignored: int = 0
    special: int = 0
    refused: str = ""
    """Why the project is not scanned: only files that tools write are covered."""


class SessionRef(Record):
    """The session that a history belongs to."""

    id: str
    file: str = ""


class History:
    """Saves the states of a project. ``open`` it first, and ``close`` it."""

    def __init__(
        self,
        store: Store,
        root: Path,
        session: SessionRef,
        *,
        refused: str = "",
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        step: Callable[[str], None] = lambda name: None,
        ask_scanner: Callable[[Any], Any] | None = None,
    ) -> None:
        self.root = Path(os.path.realpath(root))
        self.store = store
        self.folder = store.project(self.root)
        self.session = session
        self.refused = refused
        """Why the project is not scanned; empty if it is."""
        self.now_ms = now_ms
        self.step = step
        """Called between the steps of every change on disk; tests end the process there."""
        self._limits = store.limits
        self._run = f"{session.id}.{os.urandom(4).hex()}"
        self._live: FileLock | None = None
        header = JournalHeader(session=session.id, root=str(self.root), file=session.file)
        self.journal = Journal(self.folder.journal(session.id), header)
        self._space = SessionSpace(
            store, self.folder, self.journal, self._run, self._retained_hashes
        )
        self.packs = self._space.packs
        self._scanner = ProjectScanner(self.root, max_files=self._limits.max_files, ask=ask_scanner)
        self._last_scan: Scan | None = None
        self._known: dict[str, Known] = {}
        self._cache: dict[str, Known] = {}
        """Stamps and states of another session's index, to avoid reading unchanged files."""
        self._extra: set[str] = set()
        """Paths that tools wrote or that changed once: compared even if no scan covers them."""
        self._unsure: dict[str, None] = {}
        """Paths to compare again although the next scan may not report them: files that were read
        too soon after a write, that a tool wrote, or whose capture has failed.
        """
        self._covered_bytes = 0
        self._has_baseline = False
        self._is_index_saved = False
        self._pinned: set[str] = set()
        """Hashes of old contents whose change is not in the journal yet: they must be kept."""

    # Opening and closing --------------------------------------------------------------------------

    def open(self, *, copy_from: str = "") -> None:
        """Read index and journal; ``copy_from`` is the session that this one was forked from."""
        self.folder.create(self.root)
        sweep(self.folder)
        lock = FileLock(self.folder.live / f"{self._run}.lock")
        lock.__enter__()
        self._live = lock
        parent = self.folder.journal(copy_from) if copy_from else None
        if parent is not None and not self.journal.path.exists() and parent.exists():
            self.journal.rewrite(Journal(parent, self.journal.header).timeline.events)
        self._read_index()
        # The journal is newer than the index if a session was killed.
        for path, state in self.journal.timeline.last_states().items():
            self._extra.add(path)
            if state is None:
                self._known.pop(path, None)
            elif path not in self._known or self._known[path].state != state:
                self._known[path] = Known(stamp=NO_STAMP, state=state)
        self._count_bytes()

    def close(self) -> None:
        """Save the index and release the lock."""
        self.packs.flush()
        if self._has_baseline and not self._is_index_saved:
            self.save_index()
        if self._live is not None:
            self._live.__exit__()
            self._live = None
            (self.folder.live / f"{self._run}.lock").unlink(missing_ok=True)

    def save_index(self) -> None:
        """Write stamps and states, so that the next session reads changed files only."""
        index = Index(
            session=self.session.id,
            left_out=tuple(sorted(self._scanner.left_out)),
            rule_texts=self._scanner.rule_texts,
            known=self._known,
        )
        data = encode_index(index)
        if self._space.reserve(len(data)):
            replace_file(self.folder.index, data)
            self._is_index_saved = True

    def _read_index(self) -> None:
        index = read_index(self.folder.index)
        if index is None:
            return
        # A content may have been pruned meanwhile: without a stamp its file is read again.
        known_files = {
            path: known_file
            if self._is_stored(known_file.state)
            else Known(stamp=NO_STAMP, state=known_file.state)
            for path, known_file in in_slices(index.known.items())
        }
        if index.session == self.session.id:
            self._known, self._has_baseline, self._is_index_saved = known_files, True, True
            self._scanner.resume(left_out=index.left_out, rule_texts=index.rule_texts)
        else:
            self._cache = known_files

    def _is_stored(self, state: FileState) -> bool:
        return state.kind != "file" or not state.is_saved or state.hash in self.packs

    # Capturing ------------------------------------------------------------------------------------

    def capture(self, by: Author, what: str = "") -> tuple[PathChange, ...]:
        """Save and record the changes since the last capture, with ``by`` as their author."""
        if not self.root.is_dir():
            return ()
        self._space.forget_size()
        changes: list[PathChange] = []
        known_files = self._known
        # In two steps: reading a file takes a hundred times as long as comparing a stamp.
        new: list[tuple[str, Stamp]] = []
        removed: list[str] = []
        for path, stamp in in_slices(self._scan()):
            old = known_files.get(path)
            if stamp is None:
                removed.append(path)
            elif old is None or old.stamp != stamp:
                new.append((path, stamp))
        for path, stamp in in_slices(new, READ):
            changes += self._update(path, stamp)
        unsure = [
            path
            for path, stamp in new
            if path not in known_files or known_files[path].stamp != stamp
        ]
        for path in removed:
            if path in known_files and self._is_in_unreadable(path):
                unsure.append(path)
            elif path in known_files:
                changes += self._lose(path)
        self._unsure = dict.fromkeys(unsure)
        self.step("captured")
        self.packs.flush()
        self.step("saved")
        self._cache = {}
        files = self.record(changes, by, what)
        if not self._has_baseline:
            # If pi is killed, the next session starts from this index and the journal.
            self._has_baseline = True
            self.save_index()
        return files

    def record(
        self, changes: Iterable[PathChange], by: Author, what: str
    ) -> tuple[PathChange, ...]:
        """Add changes to the journal."""
        files = tuple(sorted(changes, key=lambda change: change.path))
        if files:
            self._extra.update(file.path for file in files)
            self._space.reserve(len(files) * EVENT_BYTES)
            self.journal.append(Change(time_ms=self.now_ms(), by=by, files=files, what=what[:200]))
        self._pinned.clear()
        return files

    def _scan(self) -> list[tuple[str, Stamp | None]]:
        """The paths that may have changed, with their stamps; ``None`` for those not found."""
        if not self.refused:
            expected = max(len(self._known), len(self._cache))
            scan = self._last_scan = self._scanner.scan(expected=expected)
            # Noted at once: if this capture fails, the next scan does not report them again.
            self._unsure |= dict.fromkeys((*scan.changed, *scan.removed))
            if scan.is_complete:
                self._unsure |= dict.fromkeys(self._known)
        stamps = self._scanner.stamps
        outside = {path: self._stamp(path) for path in self._extra if path not in stamps}
        stamped_paths = [(path, stamps.get(path)) for path in self._unsure if path not in outside]
        return [*stamped_paths, *outside.items()]

    def _stamp(self, path: str) -> Stamp | None:
        """The stamp of a path that no scan has found."""
        try:
            status = os.lstat(self.path_of(path))
        except OSError:
            return None
        return stamp_of(status) if self._is_direct(path) else None

    def _is_in_unreadable(self, path: str) -> bool:
        """Whether a path is in a folder that cannot be listed now."""
        folders = self._last_scan.unreadable if self._last_scan is not None else ()
        return any(folder == "./" or path.startswith(folder) for folder in folders)

    def _lose(self, path: str) -> list[PathChange]:
        """Forget a path that was not found; returns its change."""
        old = self._known[path].state
        self._forget(path)
        # A scan also omits files that exist, e.g. ignored ones: those were not removed.
        is_there = os.path.lexists(self.path_of(path)) and self._is_direct(path)
        return [] if is_there else [PathChange(path=path, old=old, new=None)]

    def _update(self, path: str, stamp: Stamp) -> list[PathChange]:
        """Read a path whose stamp is new; returns its change."""
        old, cached = self._known.get(path), self._cache.get(path)
        if old is None and cached is not None and cached.stamp == stamp:
            reading = Reading(cached.state, stamp)
            state = cached.state
        else:
            new_reading = self._read(path, checked=True)
            if new_reading is None:
                return []  # gone since the scan, or a pipe: the next capture decides
            if old is not None:  # the old content does not count against the budget
                self._covered_bytes -= _saved_bytes(old.state)
            reading, state = new_reading, self._save(new_reading)
            if old is not None:
                self._covered_bytes += _saved_bytes(old.state)
        self._remember(path, reading, state)
        if old is None:
            scan = self._last_scan
            is_new = self._has_baseline and not (
                scan is not None and scan.rules_changed and self._scanner.was_ignored(path)
            )
            return [PathChange(path=path, old=None, new=state)] if is_new else []
        return [] if old.state == state else [PathChange(path=path, old=old.state, new=state)]

    def _save(self, reading: Reading, *, budget: bool = True) -> FileState:
        """Store a content. Returns the state, with an ``UNSAVED`` hash if it was not stored."""
        state = reading.state
        if state.kind != "file" or reading.data is None or state.hash in self.packs:
            return state
        fits = not budget or self._covered_bytes + state.size <= self._limits.max_bytes
        if fits and self.packs.add(state.hash, reading.data):
            return state
        return replace(state, hash=f"{UNSAVED}{state.size}-{reading.stamp[1]}")

    def _remember(self, path: str, reading: Reading, state: FileState) -> None:
        self._forget(path)
        stamp = NO_STAMP if reading.is_racy else reading.stamp
        self._known[path] = Known(stamp=stamp, state=state)
        self._covered_bytes += _saved_bytes(state)

    def _forget(self, path: str) -> None:
        old = self._known.pop(path, None)
        self._is_index_saved = False
        if old is not None:
            self._covered_bytes -= _saved_bytes(old.state)
            self._pinned.add(old.state.hash)

    def _retained_hashes(self) -> set[str]:
        """Hashes of contents to keep that may not be in the journal or the index yet."""
        return {known_file.state.hash for known_file in self._known.values()} | self._pinned

    def _count_bytes(self) -> None:
        self._covered_bytes = sum(
            _saved_bytes(known_file.state) for known_file in self._known.values()
        )

    # Single paths ---------------------------------------------------------------------------------

    def look(self, path: str) -> FileState | None:
        """Return the present state of a path, and save its content. Nothing is recorded."""
        reading = self._read(path)
        if reading is None:
            return None
        state = self._save(reading, budget=False)
        self.packs.flush()
        return state

    def before_write(self, target: str) -> tuple[str, ...]:
        """Save the state of a path before a tool writes it. Returns the paths for ``after_write``.

        These are the path and its missing parent folders. Changes since the last capture are
        recorded as made outside of pi.
        """
        if self._last_scan is None and not self.refused:
            self.capture("outside")  # without a scan it is unknown whether a file is new
        self._space.forget_size()
        name = self.name_of(target)
        paths = [*self._missing_parents(name), name]
        changes: list[PathChange] = []
        for path in paths:
            # A path that no scan covers has no known state: the present one is its first.
            is_followed = path in self._known or path in self._extra or self._scanner.covers(path)
            file_changes = self._sync(path)
            changes += file_changes if is_followed else ()
        self._extra.update(paths)
        self.packs.flush()
        self.record(changes, "outside", "")
        return tuple(paths)

    def after_write(self, paths: Iterable[str], what: str) -> tuple[PathChange, ...]:
        """Record the changes of the tool to the paths from ``before_write``."""
        changes = [change for path in paths for change in self._sync(path)]
        self.packs.flush()
        self.step("saved")
        return self.record(changes, "tool", what)

    def _sync(self, path: str) -> list[PathChange]:
        """Read a path again without comparing stamps; returns its change."""
        self._unsure[path] = None
        old = self._known.get(path)
        reading = self._read(path)
        if reading is None:
            self._forget(path)
            return [PathChange(path=path, old=old.state, new=None)] if old is not None else []
        state = self._save(reading, budget=False)
        self._remember(path, reading, state)
        if old is not None and old.state == state:
            return []
        return [PathChange(path=path, old=old.state if old else None, new=state)]

    def restored(self, changes: Iterable[PathChange]) -> list[PathChange]:
        """Read the restored paths again; returns how they differ from the last known states."""
        differences: list[PathChange] = []
        for change in changes:
            self._extra.add(change.path)
            differences += self._sync(change.path)
        self.packs.flush()
        return differences

    def _missing_parents(self, name: str) -> list[str]:
        missing: list[str] = []
        parent = name.rpartition("/")[0]
        while parent and not os.path.lexists(self.path_of(parent)):
            missing.insert(0, parent)
            parent = parent.rpartition("/")[0]
        return missing

    def _read(self, path: str, *, checked: bool = False) -> Reading | None:
        if not checked and not self._is_direct(path):
            return None
        return read_path(self.path_of(path), max_bytes=self._limits.max_file_bytes)

    def _is_direct(self, path: str) -> bool:
        """Whether no folder above a path is a link: behind a link is another file."""
        folder = self.path_of(path).parent
        return os.path.realpath(folder) == str(folder)

    def path_of(self, name: str) -> Path:
        """The absolute path for a name in the journal."""
        return self.root / name

    def name_of(self, path: str) -> str:
        """The name in the journal: relative inside the project, absolute outside."""
        folder, last = os.path.split(path)
        real = Path(os.path.realpath(folder)) / last
        if real == self.root or not real.is_relative_to(self.root):
            return str(real)
        return real.relative_to(self.root).as_posix()

    # Points and coverage --------------------------------------------------------------------------

    def add_point(self, id: str, prompt: str) -> Point:
        """Make the present state a point, after a capture."""
        self.packs.flush()
        point = Point(id=id, time_ms=self.now_ms(), prompt=" ".join(prompt.split())[:120])
        self.journal.append(point)
        return point

    def coverage(self) -> Coverage:
        """Return which files are covered, according to the last capture."""
        states = [(path, known_file.state) for path, known_file in in_slices(self._known.items())]
        files = sum(state.kind != "folder" for _, state in in_slices(states))
        unsaved = {path: state for path, state in in_slices(states) if not state.is_saved}
        most = self._limits.max_file_bytes
        scan = self._last_scan
        return Coverage(
            files=files - len(unsaved),
            bytes=self._covered_bytes,
            too_large=tuple(sorted(p for p, state in unsaved.items() if state.size > most)),
            over_budget=tuple(sorted(p for p, state in unsaved.items() if state.size <= most)),
            left_out=tuple(sorted(self._scanner.left_out)),
            unreadable=tuple(scan.unreadable) if scan else (),
            ignored=scan.ignored if scan else 0,
            special=scan.special if scan else 0,
            refused=self.refused,
        )

    def other_journals(self) -> list[Journal]:
        """The journals of the other sessions in this project."""
        paths = [path for path in self.folder.journals() if path != self.journal.path]
        headers = ((path, read_header(path)) for path in paths)
        return [Journal(path, header) for path, header in headers if header is not None]


class NotSaved(PiError):
    """A point or a content is not in the store any more."""


def _saved_bytes(state: FileState) -> int:
    return state.size if state.kind == "file" and state.is_saved else 0

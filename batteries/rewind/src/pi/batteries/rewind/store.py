"""The store of all projects: folders, size limit, and pruning.

::

    <store>/<project>/project.json     the path of the project
                     /packs/           contents
                     /sessions/        a journal for each session
                     /index.jsonl      stamps and states of the last session
                     /restore.json     a restoration that has not ended
                     /live/            a locked file for each running session
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from pi.base.locks import FileLock, FileLocked
from pi.batteries.rewind.journal import Journal, read_events
from pi.batteries.rewind.project_files import Packs, drop_unused, index_hashes
from pi.batteries.rewind.settings import StoreLimits
from pi.batteries.rewind.timeline import Timeline
from pi.extension import Record, replace_file

DAY_SECONDS = 24 * 60 * 60
LOCK_SECONDS = 10.0


class Pruned(Record):
    """Number of removed sessions and bytes."""

    sessions: int = 0
    bytes: int = 0


class ProjectFolder:
    """The folder of one project in the store."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.packs = path / "packs"
        self.sessions = path / "sessions"
        self.index = path / "index.jsonl"
        self.restore = path / "restore.json"
        self.live = path / "live"

    def create(self, root: Path) -> None:
        """Make the folder, private to the user."""
        for folder in (self.path.parent, self.path, self.packs, self.sessions, self.live):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = self.path / "project.json"
        if not file.exists():
            replace_file(file, json.dumps({"root": str(root)}).encode())

    @property
    def root(self) -> str:
        """The path of the project; empty if unknown."""
        data = read_json(self.path / "project.json")
        return str(data.get("root", "")) if isinstance(data, dict) else ""

    def journal(self, session: str) -> Path:
        """The path of a session's journal."""
        return self.sessions / f"{session}.jsonl"

    def journals(self) -> list[Path]:
        """All journals, the oldest first."""
        try:
            paths = [path for path in self.sessions.iterdir() if path.suffix == ".jsonl"]
        except FileNotFoundError:
            return []
        return sorted(paths, key=_modification_time)

    def lock(self, *, wait: float = LOCK_SECONDS) -> FileLock:
        """The lock that processes hold while they restore or prune."""
        return FileLock(self.path / "lock", wait=wait)

    def running(self) -> set[str]:
        """Ids of the sessions that are open in any process."""
        try:
            names = [path for path in self.live.iterdir() if path.suffix == ".lock"]
        except FileNotFoundError:
            return set()
        return {path.name.partition(".")[0] for path in names if _is_locked(path)}

    def size(self) -> int:
        """Bytes on the disk."""
        return sum(_size(path) for path in _files(self.path))

    def used_hashes(self) -> set[str]:
        """Hashes of all contents that journals, the index or a restoration refer to."""
        used = index_hashes(self.index)
        for path in self.journals():
            used |= Timeline(read_events(path)).hashes()
        restore = read_json(self.restore)
        if isinstance(restore, dict):
            states = [state for row in restore.get("files", ()) for state in row[1:]]
            used.update(s[2] for s in states if s and s[0] == "f")
        return used


class Store:
    """All projects."""

    def __init__(self, path: Path, limits: StoreLimits) -> None:
        self.path = path
        self.limits = limits

    def project(self, root: Path) -> ProjectFolder:
        """The folder for a project; it may not exist yet."""
        key = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:16]
        return ProjectFolder(self.path / key)

    def projects(self) -> list[ProjectFolder]:
        """The folders of all projects."""
        try:
            return [ProjectFolder(p) for p in sorted(self.path.iterdir()) if p.is_dir()]
        except FileNotFoundError:
            return []

    def size(self) -> int:
        """Bytes of all projects on the disk."""
        return sum(project.size() for project in self.projects())

    def prune(self, *, now: float | None = None) -> Pruned:
        """Remove sessions that are too old, and the oldest ones above the limit."""
        now = time.time() if now is None else now
        before, removed = self.size(), 0
        for project in self.projects():
            oldest = now - self.limits.keep_days * DAY_SECONDS
            old = [path for path in project.journals() if _modification_time(path) < oldest]
            removed += self._drop(project, old)
        while self.size() > self.limits.store_bytes and (location := self._oldest()) is not None:
            removed += self._drop(location[0], [location[1]])
        return Pruned(sessions=removed, bytes=max(0, before - self.size()))

    def make_room(self, size: int, *, besides: ProjectFolder) -> bool:
        """Remove the oldest sessions until ``size`` more bytes fit; returns whether they do.

        ``besides`` is in use by the caller and is skipped.
        """
        limit = self.limits.store_bytes - size
        while self.size() > limit:
            if (oldest := self._oldest(besides)) is None:
                return False
            self._drop(oldest[0], [oldest[1]])
        return True

    def _oldest(self, besides: ProjectFolder | None = None) -> tuple[ProjectFolder, Path] | None:
        """The oldest journal, or the ``project.json`` of a folder without journals."""
        candidates: list[tuple[float, ProjectFolder, Path]] = []
        for project in self.projects():
            if besides is not None and project.path == besides.path:
                continue
            if project.running():
                continue
            paths = project.journals() or [project.path / "project.json"]
            candidates += ((_modification_time(path), project, path) for path in paths)
        if not candidates:
            return None
        _, project, path = min(candidates, key=lambda candidate: candidate[0])
        return project, path

    def _drop(self, project: ProjectFolder, journals: Collection[Path]) -> int:
        """Remove journals and contents that only they use. Returns the number of journals.

        Projects that are locked or in use by a session are skipped.
        """
        if project.running():  # contents may be in use that are in no journal yet
            return 0
        try:
            with project.lock(wait=0):
                for path in journals:
                    path.unlink(missing_ok=True)
                if not project.journals():
                    shutil.rmtree(project.path)
                    return len(journals)
                drop_unused(project.packs, _keys(project.used_hashes()))
                return len(journals)
        except FileLocked:
            return 0


class SessionSpace:
    """Reserves space in the store for one session, within the size limit."""

    def __init__(
        self,
        store: Store,
        folder: ProjectFolder,
        journal: Journal,
        run: str,
        retained_hashes: Callable[[], set[str]],
    ) -> None:
        self._store = store
        self._folder = folder
        self._journal = journal
        self._retained_hashes = retained_hashes
        """Returns hashes of contents that the session needs, but that may be in no journal yet."""
        self.packs = Packs(folder.packs, run, self.reserve)
        self._size: int | None = None
        """Bytes on the disk; ``None`` if they have to be counted again."""
        self._is_full = False

    def forget_size(self) -> None:
        """Count the bytes again when some are needed; other sessions change them, too.

        Not now: most captures find no change, and the store may have thousands of files.
        """
        self._size, self._is_full = None, False

    def reserve(self, size: int) -> bool:
        """Reserve ``size`` bytes; may remove old sessions. Returns False if the store is full."""
        if self._size is None:
            self._size = self._store.size()
        if self._size + size <= self._store.limits.store_bytes:
            self._size += size
            return True
        if self._is_full:  # measuring again for every file would take too long
            return False
        self.packs.flush()  # contents in memory count, too
        has_room = self._store.make_room(size, besides=self._folder) or self._trim(size)
        self._size = self._store.size() + (size if has_room else 0)
        self._is_full = not has_room
        return has_room

    def _trim(self, size: int) -> bool:
        """Drop unused contents of this project, then old sessions, then old points of this one."""
        try:
            with self._folder.lock(wait=0):
                others = self._folder.running() - {self._journal.header.session}
                if others:  # contents that they need may be in no journal yet
                    return False
                self.packs.forget()
                while True:
                    used = self._folder.used_hashes() | self._retained_hashes()
                    drop_unused(self._folder.packs, _keys(used))
                    self.packs.forget()
                    if self._store.size() + size <= self._store.limits.store_bytes:
                        return True
                    if not self._drop_oldest():
                        return False
        except FileLocked:
            return False

    def _drop_oldest(self) -> bool:
        """Remove the oldest session, or the older half of this one's points."""
        others = [path for path in self._folder.journals() if path != self._journal.path]
        if others:
            others[0].unlink()
            return True
        events = self._journal.timeline.without_oldest_half()
        if events is None:
            return False
        self._journal.rewrite(events)
        return True


def _keys(hashes: Collection[str]) -> set[bytes]:
    """Hash in the form of packs, without those of unsaved contents."""
    return {bytes.fromhex(hash) for hash in hashes if hash and not hash.startswith("?")}


def read_json(path: Path) -> Any:
    """The content of a file of the store; ``None`` if it is missing or damaged."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def sweep(project: ProjectFolder) -> None:
    """Remove leftovers of killed processes: temporary files, and locks without a holder."""
    for folder in (project.path, project.packs, project.sessions):
        for path in folder.glob(".pi-*.tmp"):
            path.unlink(missing_ok=True)
    for path in project.live.glob("*.lock"):
        # A new file may belong to a process that is about to lock it.
        if time.time() - _modification_time(path) > LOCK_SECONDS and not _is_locked(path):
            path.unlink(missing_ok=True)


def _is_locked(path: Path) -> bool:
    if not path.exists():
        return False
    try:
        with FileLock(path):
            return False
    except FileLocked:
        return True


def _files(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from _files(Path(entry.path))
                else:
                    yield entry
    except FileNotFoundError:
        return


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0


def _modification_time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0

"""The list of sessions, of one working directory or all."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pi.base.records import Record
from pi.coding.session.catalog_index import IndexRow, load_index, save_index
from pi.coding.session.summaries import SessionSummary, read_summary
from pi.coding.session.writing import SESSIONS, SUFFIX, session_directory

log = logging.getLogger(__name__)


READERS = 8
"""Files read concurrently: enough for a slow disk, below usual file limits."""


class ListedSession(Record, gc=False):
    """One session with its summary."""

    path: Path
    size: int
    """Bytes."""
    summary: SessionSummary


class _Found(Record, gc=False):
    """A file that may be a session."""

    path: Path
    real: str
    is_link: bool
    size: int
    modified_ns: int


class SessionCatalog:
    """Lists sessions, the last used first. Blocking: call it from a thread.

    A ``custom`` directory contains the sessions of all working directories.
    """

    def __init__(self, agent_dir: Path, *, custom: Path | None = None) -> None:
        self._agent_dir = agent_dir
        self.custom = custom

    def in_directory(self, cwd: str) -> list[ListedSession]:
        """Return the sessions of a working directory.

        Its folder may also contain sessions of other directories: ``/a/b`` and ``/a-b`` share one.
        """
        listed = self._list_folders([session_directory(self._agent_dir, cwd, custom=self.custom)])
        recorded = {session.summary.cwd for session in listed}
        matching_cwds = {
            recorded_cwd
            for recorded_cwd in recorded
            if not recorded_cwd or is_same_directory(recorded_cwd, cwd)
        }
        return [session for session in listed if session.summary.cwd in matching_cwds]

    def in_all_directories(self) -> list[ListedSession]:
        """Return the sessions of all working directories."""
        if self.custom is not None:
            return self._list_folders([self.custom])
        return self._list_folders(_project_folders(self._agent_dir / SESSIONS))

    def _list_folders(self, folders: Iterable[Path]) -> list[ListedSession]:
        by_real_path = {os.path.realpath(folder): folder for folder in folders}
        files = [
            file for real, folder in by_real_path.items() for file in _session_files(folder, real)
        ]
        rows = self._index_rows(files, set(by_real_path))
        sessions = {
            # Links first, so that the file itself replaces them.
            file.real: ListedSession(path=file.path, size=file.size, summary=summary)
            for file in sorted(files, key=lambda file: not file.is_link)
            if (row := rows.get(file.real)) and (summary := row.facts)
        }
        return sorted(sessions.values(), key=lambda session: -session.summary.active_ms)

    def _index_rows(self, files: list[_Found], folders: set[str]) -> dict[str, IndexRow]:
        """Return a row for every readable file: from the index, or read now and added to it."""
        index = load_index(self._agent_dir)
        rows: dict[str, IndexRow] = {}
        unread: dict[str, _Found] = {}
        for file in files:
            row = index.get(file.real)
            if row and (row.size, row.modified_ns) == (file.size, file.modified_ns):
                rows[file.real] = row
            else:
                unread[file.real] = file
        rows.update(_read_all(list(unread.values())))
        others = {
            real: row for real, row in index.items() if real.rpartition(os.sep)[0] not in folders
        }
        if others | rows != index:
            still_existing = {real: row for real, row in others.items() if Path(real).exists()}
            save_index(self._agent_dir, still_existing | rows)
        return rows


def is_same_directory(one: str, other: str) -> bool:
    """Whether two paths are the same directory, which may no longer exist."""
    return one == other or os.path.realpath(one) == os.path.realpath(other)


def _project_folders(root: Path) -> list[Path]:
    """Return the folders of all projects; links first, so that the folder itself replaces them."""
    try:
        with os.scandir(root) as entries:
            folders = [entry for entry in entries if entry.is_dir()]
    except OSError:  # no session was ever stored
        return []
    return [
        Path(folder.path) for folder in sorted(folders, key=lambda folder: not folder.is_symlink())
    ]


def _session_files(folder: Path, real_folder: str) -> Iterator[_Found]:
    """Yield the session files of a folder, judged by name."""
    try:
        with os.scandir(folder) as entries:
            named = [entry for entry in entries if entry.name.endswith(SUFFIX)]
    except OSError:  # the first session creates the folder
        return
    for entry in named:
        try:
            status = entry.stat()
        except OSError:  # removed meanwhile, or a broken link
            continue
        if stat.S_ISREG(status.st_mode):  # opening a pipe would block for ever
            is_link = entry.is_symlink()
            yield _Found(
                path=Path(entry.path),
                real=os.path.realpath(entry.path)
                if is_link
                else f"{real_folder}{os.sep}{entry.name}",
                is_link=is_link,
                size=status.st_size,
                modified_ns=status.st_mtime_ns,
            )


def _read_all(files: list[_Found]) -> dict[str, IndexRow]:
    if not files:
        return {}
    with ThreadPoolExecutor(min(READERS, len(files))) as readers:
        rows = list(readers.map(_read, files))
    return {file.real: row for file, row in zip(files, rows, strict=True) if row is not None}


def _read(file: _Found) -> IndexRow | None:
    try:
        facts = read_summary(file.path)
    except OSError:  # not readable now; that may change
        return None
    return IndexRow(size=file.size, modified_ns=file.modified_ns, facts=facts)

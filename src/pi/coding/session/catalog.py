"""Which sessions there are: of one working directory, and of all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pi.base.records import Record
from pi.coding.session.facts import SessionFacts, read_facts
from pi.coding.session.index import Row, load_index, save_index
from pi.coding.session.naming import SESSIONS, SUFFIX, session_directory

READERS = 8
"""Files that are read at the same time: enough for a slow disk, few enough for a file limit."""


class ListedSession(Record, gc=False):
    """One session, with what a list shows of it."""

    path: Path
    size: int
    """Bytes."""
    facts: SessionFacts


class _Found(Record, gc=False):
    """A file that may be a session."""

    path: Path
    real: str
    is_link: bool
    size: int
    modified_ns: int


class SessionCatalog:
    """Lists sessions, the one that was used last first. Blocks: ask it from a thread.

    With a ``custom`` directory the sessions of all working directories lie in that one.
    """

    def __init__(self, agent_dir: Path, *, custom: Path | None = None) -> None:
        self._agent_dir = agent_dir
        self.custom = custom

    def of_project(self, cwd: str) -> list[ListedSession]:
        """The sessions of a working directory.

        Its folder may hold those of others, too: ``/a/b`` and ``/a-b`` share one.
        """
        listed = self._listed([session_directory(self._agent_dir, cwd, custom=self.custom)])
        recorded = {session.facts.cwd for session in listed}
        here = {place for place in recorded if not place or is_same_directory(place, cwd)}
        return [session for session in listed if session.facts.cwd in here]

    def everywhere(self) -> list[ListedSession]:
        """The sessions of all working directories."""
        if self.custom is not None:
            return self._listed([self.custom])
        return self._listed(_folders(self._agent_dir / SESSIONS))

    def _listed(self, folders: Iterable[Path]) -> list[ListedSession]:
        wanted = {os.path.realpath(folder): folder for folder in folders}
        found = [file for real, folder in wanted.items() for file in _files(folder, real)]
        rows = self._rows(found, set(wanted))
        sessions = {
            # Links first, so that the file itself takes their place.
            file.real: ListedSession(path=file.path, size=file.size, facts=facts)
            for file in sorted(found, key=lambda file: not file.is_link)
            if (row := rows.get(file.real)) and (facts := row.facts)
        }
        return sorted(sessions.values(), key=lambda session: -session.facts.active_ms)

    def _rows(self, found: list[_Found], folders: set[str]) -> dict[str, Row]:
        """A row for every file that can be read: from the index, or read now and kept there."""
        index = load_index(self._agent_dir)
        rows: dict[str, Row] = {}
        unread: dict[str, _Found] = {}
        for file in found:
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
            there = {real: row for real, row in others.items() if Path(real).exists()}
            save_index(self._agent_dir, there | rows)
        return rows


def is_same_directory(one: str, other: str) -> bool:
    """Whether two paths lead to the same directory; it need not exist any more."""
    return one == other or os.path.realpath(one) == os.path.realpath(other)


def _folders(root: Path) -> list[Path]:
    """The folders of all projects; links first, so that the folder itself takes their place."""
    try:
        with os.scandir(root) as entries:
            folders = [entry for entry in entries if entry.is_dir()]
    except OSError:  # no session was ever kept
        return []
    return [Path(each.path) for each in sorted(folders, key=lambda each: not each.is_symlink())]


def _files(folder: Path, real_folder: str) -> Iterator[_Found]:
    """The session files of a folder, as far as their names tell."""
    try:
        with os.scandir(folder) as entries:
            named = [entry for entry in entries if entry.name.endswith(SUFFIX)]
    except OSError:  # the folder is made with the first session
        return
    for entry in named:
        try:
            status = entry.stat()
        except OSError:  # removed meanwhile, or a link to nothing
            continue
        if stat.S_ISREG(status.st_mode):  # opening a pipe would wait for ever
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


def _read_all(files: list[_Found]) -> dict[str, Row]:
    if not files:
        return {}
    with ThreadPoolExecutor(min(READERS, len(files))) as readers:
        rows = list(readers.map(_read, files))
    return {file.real: row for file, row in zip(files, rows, strict=True) if row is not None}


def _read(file: _Found) -> Row | None:
    try:
        facts = read_facts(file.path)
    except OSError:  # not ours to read now; that may change
        return None
    return Row(size=file.size, modified_ns=file.modified_ns, facts=facts)

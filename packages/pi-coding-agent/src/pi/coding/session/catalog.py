"""The list of sessions, of one working directory or all, and its index."""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
from pathlib import Path
from typing import BinaryIO

import msgspec

from pi.ai.messages import Json
from pi.base.errors import PiError
from pi.base.files import open_regular, read_if_exists, replace_file
from pi.base.records import UNREADABLE, Record
from pi.base.terminal_text import one_line
from pi.coding.session.reading import lines_of, read_object
from pi.coding.session.writing import SESSIONS, SUFFIX, clean_name, milliseconds, session_directory

log = logging.getLogger(__name__)


# Summaries ----------------------------------------------------------------------------------------

# They are read without decoding the conversation. Nearly every line is recognised by its prefix;
# only the header, the first user message, names and unusual lines are decoded.

FIRST_MESSAGE = 400
"""Maximum characters kept of the first message."""

_READ_AHEAD = 1 << 16
_MAX_HEADER = 1 << 16
_MAX_CHUNKS_BEFORE_HEADER = 64
"""Maximum chunks of ``_MAX_HEADER`` bytes in which the header of a damaged file is searched."""

# Line prefixes that pi and the original write. A torn line may match and is counted; that is the
# only inaccuracy.
_MESSAGE = re.compile(
    rb'\{"type":"message","id":"[^"\\]*","parentId":(?:null|"[^"\\]*"),"timestamp":"([^"\\]*)",'
    rb'"message":\{"role":"(\w+)"'
)
_IRRELEVANT = re.compile(rb'\{"type":"(?!message"|session_info")[^"\\]*"')


class SessionSummary(Record, array_like=True, gc=False):
    """Summary of a session file. Times are milliseconds since 1970."""

    id: str
    cwd: str
    """Empty if unknown."""
    created_ms: int
    parent: str | None
    """The file that it was forked from."""
    name: str | None
    first_message: str
    """Beginning of the first user message, on one line; empty for images only."""
    message_count: int
    """Messages on all branches, without system messages."""
    last_message_ms: int

    @property
    def active_ms(self) -> int:
        """Time of the last message, or of creation. Renaming does not count."""
        return max(self.created_ms, self.last_message_ms)


def read_header(path: Path) -> Json | None:
    """Return the header of a session file; ``None`` if it is not one. Raises ``OSError``."""
    with open_regular(path) as file:
        return _read_header(file)


def read_summary(path: Path) -> SessionSummary | None:
    """Return the summary of a file; ``None`` if it is not a session. Raises ``OSError``."""
    with open_regular(path, buffering=_READ_AHEAD) as file:
        header = _read_header(file)
        if header is None:
            return None
        lines = (line for line in lines_of(file) if isinstance(line, bytes))
        return summary_of_lines(header, lines)


def read_prompts(path: Path) -> list[str]:
    """Return the texts of all user messages of a session file, in order. Raises ``OSError``."""
    with open_regular(path, buffering=_READ_AHEAD) as file:
        lines = (line for line in lines_of(file) if isinstance(line, bytes))
        texts = (
            _message_text(read_object(line) or {})
            for role, _, line in _relevant_lines(lines)
            if role == "user"
        )
        return [text for text in (prompt.strip() for prompt in texts) if text]


def summary_of_lines(header: Json, lines: Iterable[bytes]) -> SessionSummary:
    """Return the summary of a session with this header and these further lines."""
    name: str | None = None
    first: str | None = None
    count, last = 0, ""
    for role, timestamp, line in _relevant_lines(lines):
        match role:
            case "session_info":
                raw_name = (read_object(line) or {}).get("name")
                name = (clean_name(raw_name) if isinstance(raw_name, str) else "") or None
            case "system":
                pass
            case _:
                count, last = count + 1, timestamp
                if first is None and role == "user":
                    message_text = _message_text(read_object(line) or {})
                    first = one_line(message_text[: 2 * FIRST_MESSAGE])[:FIRST_MESSAGE]
    return SessionSummary(
        id=header["id"],
        cwd=_text_field(header, "cwd"),
        created_ms=milliseconds(_text_field(header, "timestamp")),
        parent=_text_field(header, "parentSession") or None,
        name=name,
        first_message=first or "",
        message_count=count,
        last_message_ms=milliseconds(last),
    )


def _read_header(file: BinaryIO) -> Json | None:
    """Return the first line that holds an object, if it is a header."""
    pieces = (file.readline(_MAX_HEADER) for _ in range(_MAX_CHUNKS_BEFORE_HEADER))
    for line in takewhile(bool, pieces):
        if (data := read_object(line)) is not None:
            is_header = data.get("type") == "session" and isinstance(data.get("id"), str)
            return data if is_header else None
    return None


def _relevant_lines(lines: Iterable[bytes]) -> Iterator[tuple[str, str, bytes]]:
    """Yield the relevant lines: role or type, time, and the line."""
    for line in lines:
        if match := _MESSAGE.match(line):
            yield match[2].decode(), match[1].decode(errors="replace"), line
        elif not _IRRELEVANT.match(line) and (data := read_object(line)) is not None:
            match data:
                case {"type": "message", "message": {"role": str(role)}}:
                    yield role, _text_field(data, "timestamp"), line
                case {"type": "session_info"}:
                    yield "session_info", "", line


def _message_text(entry: Json) -> str:
    match entry:
        case {"message": {"content": str(text)}}:
            content_text = text
        case {"message": {"content": list(blocks)}}:
            content_text = " ".join(
                block["text"]
                for block in blocks
                if isinstance(block, dict) and isinstance(block.get("text"), str)
            )
        case _:
            content_text = ""
    return content_text


def _text_field(data: Json, key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""


# Index --------------------------------------------------------------------------------------------

# It caches summaries in one file of the agent's directory. A row is valid while its file has the
# same size and time; an index that is damaged, outdated or missing is rebuilt silently.

FILE_NAME = "session-index.json"

MAX_INDEX_BYTES = 64 * 1024 * 1024
"""A larger index is not read; a row has a few hundred bytes."""

_VERSION = 1


class IndexRow(Record, array_like=True, gc=False):
    """A file at the time it was read."""

    size: int
    modified_ns: int
    facts: SessionSummary | None
    """``None``: not a session."""


class _Stored(Record):
    version: int
    rows: dict[str, IndexRow]
    """By the real path of the file."""


_STORED = msgspec.json.Decoder(_Stored)


def load_index(agent_dir: Path) -> dict[str, IndexRow]:
    """Return the rows by the real path of their files; empty if there is no usable index."""
    try:
        stored = _STORED.decode(
            read_if_exists(agent_dir / FILE_NAME, max_bytes=MAX_INDEX_BYTES) or b""
        )
    except (*UNREADABLE, PiError):
        return {}
    return stored.rows if stored.version == _VERSION else {}


def save_index(agent_dir: Path, rows: Mapping[str, IndexRow]) -> None:
    """Store the rows; a failure is only logged."""
    try:
        stored = msgspec.json.encode(_Stored(version=_VERSION, rows=dict(rows)))
        replace_file(agent_dir / FILE_NAME, stored)
    except (UnicodeEncodeError, PiError) as error:
        log.debug("session index not saved: %s", error)


# Catalog ------------------------------------------------------------------------------------------

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

"""Finds the transcripts of an agent and stores them as sessions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Literal, TypeAlias

from pi.base.errors import PiError
from pi.base.files import open_regular, private_directory, read_if_exists, replace_file
from pi.coding.import_sources import HistoryFolders, ImportReport
from pi.coding.session.catalog import is_same_directory
from pi.coding.session.errors import SessionInUse
from pi.coding.session.reading import read_object
from pi.coding.session.writing import file_name, is_session_id, session_directory, sole_use
from pi.histories.claude import read_claude
from pi.histories.codex import read_codex
from pi.histories.transcript import ImportedSession

Stored: TypeAlias = Literal["new", "updated", "unchanged", "kept"]

_CWD = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")')
_MAX_SESSION_BYTES = 1 << 30
"""Largest session file that is compared with its transcript."""
_LINES_WITH_CWD = 60
"""Lines at the start of a file in which its directory is searched."""


def import_claude(folders: HistoryFolders, cwd: Path | None) -> ImportReport:
    """Import the transcripts of Claude Code."""
    root = folders.environ.get("CLAUDE_CONFIG_DIR") or folders.home / ".claude"
    paths = sorted((Path(root) / "projects").glob("*/*.jsonl"))
    # It stores the files of sub-agents beside those of sessions.
    files = [path for path in paths if not path.name.startswith("agent-")]
    return _import_files("claude", files, read_claude, folders, cwd)


def import_codex(folders: HistoryFolders, cwd: Path | None) -> ImportReport:
    """Import the transcripts of codex."""
    root = folders.environ.get("CODEX_HOME") or folders.home / ".codex"
    files = sorted((Path(root) / "sessions").glob("**/rollout-*.jsonl"))
    return _import_files("codex", files, read_codex, folders, cwd)


def _import_files(
    agent: str,
    files: Iterable[Path],
    read: Callable[[Iterable[bytes]], ImportedSession | None],
    folders: HistoryFolders,
    cwd: Path | None,
) -> ImportReport:
    """Import the files of ``cwd``; one that cannot be read is a problem in the report."""
    counts: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    problems: list[str] = []
    sessions: list[Path] = []
    other_folders = 0
    for path in files:
        try:
            if cwd is not None and not _is_of(path, cwd):
                other_folders += 1
                continue
            with open_regular(path) as file:
                transcript = read(file)
            if transcript is None or not is_session_id(transcript.id) or not transcript.cwd:
                counts["empty"] += 1
                continue
            stored, target = store(transcript, folders)
        except (OSError, PiError) as error:
            problems.append(f"{path} was not imported: {error}")
            continue
        counts[stored] += 1
        if stored in ("new", "updated"):
            sessions.append(target)
            lost.update(transcript.lost)
    return ImportReport(
        agent=agent,
        counts=dict(counts),
        lost=dict(lost),
        problems=tuple(problems),
        sessions=tuple(sessions),
        other_folders=other_folders,
    )


def _is_of(path: Path, cwd: Path) -> bool:
    """Whether a transcript belongs to a directory; only its beginning is read."""
    with open_regular(path) as file:
        for line in islice(file, _LINES_WITH_CWD):
            if (match := _CWD.search(line)) is not None:
                value = read_object(b'{"cwd":' + match[1] + b"}")
                return value is not None and is_same_directory(str(value["cwd"]), str(cwd))
    return False


def store(transcript: ImportedSession, folders: HistoryFolders) -> tuple[Stored, Path]:
    """Write a session file; returns the outcome and the file. Entries added in pi are never lost.

    Raises ``SessionInUse`` if the session is open, or changes meanwhile.
    """
    folder = session_directory(folders.agent_dir, transcript.cwd, custom=folders.session_dir)
    target = private_directory(folder) / file_name(transcript.timestamp, transcript.id)
    content = transcript.content()
    before = read_if_exists(target, max_bytes=_MAX_SESSION_BYTES)
    if before is not None and before.startswith(content):
        return "unchanged", target
    if before is not None and not _read_ids(before) <= _read_ids(content):
        return "kept", target
    with sole_use(target):
        if read_if_exists(target, max_bytes=_MAX_SESSION_BYTES) != before:
            raise SessionInUse(target, None)
        replace_file(target, content)
    return ("new" if before is None else "updated"), target


def _read_ids(content: bytes) -> set[str]:
    return set(_entry_ids(content.splitlines()))


def _entry_ids(lines: Iterable[bytes]) -> Iterator[str]:
    for line in lines:
        entry = read_object(line)
        yield str(entry.get("id")) if entry is not None else "unreadable"

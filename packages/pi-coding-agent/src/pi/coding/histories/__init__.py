"""Transcripts of other agents as sessions: finds and stores them; a second import changes nothing.

The modules of this package are pure readers, one for each agent.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from msgspec import field

from pi.base.errors import PiError
from pi.base.files import open_regular, private_directory, read_if_exists, replace_file
from pi.base.records import Record
from pi.coding.histories.claude import read_claude
from pi.coding.histories.codex import read_codex
from pi.coding.histories.transcript import ImportedSession
from pi.coding.session.catalog import is_same_directory
from pi.coding.session.errors import SessionInUse
from pi.coding.session.reading import read_object
from pi.coding.session.writing import file_name, is_session_id, session_directory, sole_use

Agent: TypeAlias = Literal["claude", "codex"]
AGENTS: tuple[str, ...] = get_args(Agent)
Stored: TypeAlias = Literal["new", "updated", "unchanged", "kept"]

_READERS: dict[str, Callable[[Iterable[bytes]], ImportedSession | None]] = {
    "claude": read_claude,
    "codex": read_codex,
}
_CWD = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")')
_MAX_SESSION_BYTES = 1 << 30
"""Largest session file that is compared with its transcript."""
_LINES_WITH_CWD = 60
"""Lines at the start of a file in which its directory is searched."""


class HistoryPlaces(Record):
    """The folders of transcripts and of sessions."""

    home: Path
    agent_dir: Path
    environ: Mapping[str, str]
    session_dir: Path | None = None

    def files(self, agent: str) -> list[Path]:
        """Return all transcripts of an agent, sorted by path; raises ``PiError`` if unknown."""
        if agent not in _READERS:
            raise PiError(f"Unknown agent {agent!r}.", hint=f"Use one of {', '.join(AGENTS)}.")
        folder = self._folder(agent)
        pattern = "*/*.jsonl" if agent == "claude" else "**/rollout-*.jsonl"
        # Claude Code stores the files of sub-agents beside those of sessions.
        found = (path for path in folder.glob(pattern) if not path.name.startswith("agent-"))
        return sorted(found)

    def _folder(self, agent: str) -> Path:
        name, default, folder = {
            "claude": ("CLAUDE_CONFIG_DIR", ".claude", "projects"),
            "codex": ("CODEX_HOME", ".codex", "sessions"),
        }[agent]
        return Path(self.environ.get(name) or self.home / default) / folder


class ImportReport(Record):
    """The result of an import."""

    agent: str
    counts: dict[str, int] = field(default_factory=dict)
    """Number of sessions by outcome: a value of ``Stored``, or ``empty``."""
    lost: dict[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    sessions: tuple[Path, ...] = ()
    """The files of new and updated sessions."""
    other_folders: int = 0
    """Transcripts of other directories, which were not imported."""

    def describe(self) -> str:
        """Return the report for the user."""
        counts = self.counts
        lines = [
            f"Imported from {self.agent}: {counts.get('new', 0)} new,"
            f" {counts.get('updated', 0)} updated, {counts.get('unchanged', 0)} unchanged."
        ]
        if kept := counts.get("kept", 0):
            lines.append(f"{kept} continued in pi or changed since: not overwritten.")
        if empty := counts.get("empty", 0):
            lines.append(f"{empty} without messages: left out.")
        if self.other_folders:
            lines.append(f"{self.other_folders} of other folders: --all imports them too.")
        if self.lost:
            parts = (f"{count} {what}" for what, count in sorted(self.lost.items()))
            lines.append(f"Not carried over: {', '.join(parts)}.")
        lines += self.problems
        return "\n".join(lines)


def import_histories(agent: str, places: HistoryPlaces, *, cwd: Path | None) -> ImportReport:
    """Import the transcripts of ``cwd``, or of all directories if it is ``None``.

    A file that cannot be read is reported; the others are imported. Raises ``PiError`` for an
    unknown agent.
    """
    counts: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    problems: list[str] = []
    sessions: list[Path] = []
    other_folders = 0
    for path in places.files(agent):
        try:
            if cwd is not None and not _is_of(path, cwd):
                other_folders += 1
                continue
            with open_regular(path) as file:
                transcript = _READERS[agent](file)
            if transcript is None or not is_session_id(transcript.id) or not transcript.cwd:
                counts["empty"] += 1
                continue
            stored, target = store(transcript, places)
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
            if (found := _CWD.search(line)) is not None:
                value = read_object(b'{"cwd":' + found[1] + b"}")
                return value is not None and is_same_directory(str(value["cwd"]), str(cwd))
    return False


def store(transcript: ImportedSession, places: HistoryPlaces) -> tuple[Stored, Path]:
    """Write a session file; returns the outcome and the file. Entries added in pi are never lost.

    Raises ``SessionInUse`` if the session is open, or changes meanwhile.
    """
    folder = session_directory(places.agent_dir, transcript.cwd, custom=places.session_dir)
    target = private_directory(folder) / file_name(transcript.timestamp, transcript.id)
    content = transcript.content()
    before = read_if_exists(target, max_bytes=_MAX_SESSION_BYTES)
    if before is not None and before.startswith(content):
        return "unchanged", target
    if before is not None and not _ids(before) <= _ids(content):
        return "kept", target
    with sole_use(target):
        if read_if_exists(target, max_bytes=_MAX_SESSION_BYTES) != before:
            raise SessionInUse(target, None)
        replace_file(target, content)
    return ("new" if before is None else "updated"), target


def _ids(content: bytes) -> set[str]:
    return set(_entry_ids(content.splitlines()))


def _entry_ids(lines: Iterable[bytes]) -> Iterator[str]:
    for line in lines:
        found = read_object(line)
        yield str(found.get("id")) if found is not None else "unreadable"

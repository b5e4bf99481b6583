"""Finds sessions: by path, id or id prefix, by text, or the last used one.

``SavedSessions`` opens or forks the found session for the options of the command line.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

from pi.ai.messages import Json
from pi.base.files import expand_home, open_regular
from pi.base.fuzzy import rank
from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.coding.session.breadcrumbs import Breadcrumb
from pi.coding.session.catalog import READERS, ListedSession, SessionCatalog, is_same_directory
from pi.coding.session.errors import DirectoryGone, NoMatchingSession, SessionProblem
from pi.coding.session.file_operations import fork_file
from pi.coding.session.log import SessionLog
from pi.coding.session.opening import (
    SessionLocation,
    new_session,
    open_or_create,
    open_session,
    reserve_id,
)
from pi.coding.session.reading import read_object
from pi.coding.session.summaries import SessionSummary, read_header, read_prompts
from pi.coding.session.writing import SUFFIX, session_directory

EXCERPT_MARGIN = 60
"""Characters shown before and after a match."""
MAX_PROMPT_SESSIONS = 100
MAX_PROMPT_BYTES = 64 * 1024 * 1024
"""Bytes of session files in which earlier prompts are looked for."""


class LocalMatch(Record):
    """The session to open. If given by path, it need not exist."""

    path: Path


class OtherDirectoryMatch(Record):
    """A session of another working directory: it can be forked into this one."""

    session: ListedSession


Resolved: TypeAlias = LocalMatch | OtherDirectoryMatch


def resolve_session(
    text: str, catalog: SessionCatalog, cwd: str, *, must_exist: bool = False
) -> Resolved:
    """Return the session that ``--session`` or ``--fork`` names; raises ``NoMatchingSession``.

    With ``must_exist``, for ``--resume``, a path must be an existing file.

    A complete id is preferred to a prefix, this working directory to others, and the last used
    session to older ones.
    """
    if "/" in text or "\\" in text or text.endswith(SUFFIX):
        path = Path(cwd, expand_home(text, strict=False))
        if must_exist and not os.path.isfile(path):  # noqa: PTH113 - a prompt may be no valid path
            raise NoMatchingSession(text)
        return LocalMatch(path=path)
    if match := _best_match(text, catalog.in_directory(cwd)):
        return LocalMatch(path=match.path)
    if match := _best_match(text, catalog.in_all_directories()):
        return OtherDirectoryMatch(session=match)
    raise NoMatchingSession(text)


def find_by_id(id: str, catalog: SessionCatalog, cwd: str) -> Path | None:
    """Return the session of this working directory with exactly this id, for ``--session-id``."""
    match = _first_fitting(catalog.in_directory(cwd), lambda facts: facts.id == id)
    return match.path if match else None


def session_to_continue(
    catalog: SessionCatalog, cwd: str, crumb: Breadcrumb | None = None
) -> Path | None:
    """Return the session for ``--continue``; ``None`` if there is none yet.

    That is the last one used in this terminal and working directory, else in the working directory.
    """
    if crumb is not None and is_same_directory(crumb.cwd, cwd):
        path = Path(crumb.session)
        in_place = catalog.custom is None or is_same_directory(
            str(path.parent), str(catalog.custom)
        )
        if in_place and _belongs_to(path, cwd):
            return path
    listed = catalog.in_directory(cwd)
    return listed[0].path if listed else None


def check_directory(stored: str, session: Path | None, current: str) -> None:
    """Raise ``DirectoryGone`` if the working directory of a session no longer exists."""
    if stored and not Path(stored).is_dir():
        raise DirectoryGone(stored, session, current)


def check_persistent(directory: Path | None, flag: str) -> None:
    """Raise if ``flag`` needs an existing session although sessions are not saved."""
    if directory is None:
        raise SessionProblem(
            f"{flag} needs saved sessions, but sessions are not saved in this run.",
            hint="Remove --no-session.",
        )


def _best_match(text: str, sessions: Sequence[ListedSession]) -> ListedSession | None:
    """Return the session with this id, else the last used one with this prefix."""
    return _first_fitting(sessions, lambda facts: facts.id == text) or _first_fitting(
        sessions, lambda facts: text != "" and facts.id.startswith(text)
    )


def _first_fitting(
    sessions: Sequence[ListedSession], fits: Callable[[SessionSummary], bool]
) -> ListedSession | None:
    return next((session for session in sessions if fits(session.summary)), None)


def _belongs_to(path: Path, cwd: str) -> bool:
    try:
        header = read_header(path)
    except OSError:
        return False
    return header is not None and is_same_directory(str(header.get("cwd", cwd)), cwd)


class SavedSessions:
    """Sessions of the current folder first, then all others."""

    def __init__(self, agent_dir: Path, location: SessionLocation) -> None:
        usual = session_directory(agent_dir, location.cwd)
        self._location = location
        self._catalog = SessionCatalog(
            agent_dir, custom=None if location.directory == usual else location.directory
        )

    def forked(self, query: str, *, id: str | None = None) -> SessionLog:
        """Return a copy of a session, with a given id or a new one."""
        match = resolve_session(query, self._catalog, self._location.cwd)
        path = match.session.path if isinstance(match, OtherDirectoryMatch) else match.path
        if id is None:
            return fork_file(path, self._location)
        lock = reserve_id(id, self._location)
        if (existing := self._find(id)) is not None:
            if lock is not None:
                lock.__exit__()
            raise SessionProblem(
                f"The session id {id!r} already exists: {existing}",
                hint="Choose another id for the fork, or open that session with --session-id.",
            )
        return fork_file(path, self._location, id=id, id_lock=lock)

    def named(
        self, query: str, confirm: Callable[[str], bool], *, must_exist: bool = False
    ) -> SessionLog | None:
        """Return a session, or a copy of one of another project; ``None`` if the user declines."""
        cwd = self._location.cwd
        match = resolve_session(query, self._catalog, cwd, must_exist=must_exist)
        if not isinstance(match, OtherDirectoryMatch):
            return open_session(match.path, self._location)
        if not confirm(
            f"Session found in another project: {match.session.summary.cwd}\n"
            "Fork this session into current directory? [y/N] "
        ):
            return None
        return fork_file(match.session.path, self._location)

    def by_id(self, id: str, report: Callable[[str], None]) -> SessionLog:
        """Return the session with exactly that id; create it if it does not exist."""
        log = open_or_create(id, lambda: self._find(id), self._location)
        if not log.is_saved:
            report(
                f"Warning: No project session found with id '{id}';"
                " creating a new session with that id."
            )
        return log

    def last(self, breadcrumb: Breadcrumb | None) -> SessionLog:
        """Return the session last open in this terminal, else in any, else a new one."""
        last = session_to_continue(self._catalog, self._location.cwd, breadcrumb)
        return open_session(last, self._location) if last else new_session(self._location)

    def _find(self, id: str) -> Path | None:
        return find_by_id(id, self._catalog, self._location.cwd)


class Passage(Record):
    """A session that contains the text, and its first occurrence."""

    session: ListedSession
    entry_id: str
    excerpt: str


def search_sessions(query: str, sessions: Sequence[ListedSession]) -> list[ListedSession]:
    """Return the sessions whose name, first message, directory or id match ``query``.

    Sessions with all words as typed keep their order (last use); fuzzy matches follow, the best
    first.
    """
    query_words = query.lower().split()
    texts = {session.path: _searchable_text(session) for session in sessions}
    exact = [s for s in sessions if all(word in texts[s.path].lower() for word in query_words)]
    exact_paths = {session.path for session in exact}
    rest = [session for session in sessions if session.path not in exact_paths]
    return exact + rank(query, rest, key=lambda session: texts[session.path])


def search_texts(query: str, sessions: Sequence[ListedSession]) -> list[Passage]:
    """Return the first match in each session, in order. Reads the files: call it from a thread."""
    if not (text := query.strip()):
        return []
    # A line is decoded only if it contains the query as JSON.
    json_pattern = re.compile(re.escape(json.dumps(text, ensure_ascii=False)[1:-1]), re.IGNORECASE)
    pattern = re.compile(re.escape(text), re.IGNORECASE)

    def look(session: ListedSession) -> Passage | None:
        try:
            with open_regular(session.path) as file:
                lines = (
                    line for line in file if json_pattern.search(line.decode(errors="replace"))
                )
                return _first_passage(session, lines, pattern)
        except OSError:  # removed since it was listed
            return None

    with ThreadPoolExecutor(READERS) as readers:
        return [passage for passage in readers.map(look, sessions) if passage is not None]


def prompts_of(catalog: SessionCatalog, cwd: str) -> list[str]:
    """Return the prompts of the folder's sessions, the newest first and each once.

    Reads the files, those used last first, up to a limit: call it from a thread.
    """
    prompts: dict[str, None] = {}
    remaining = MAX_PROMPT_BYTES
    for session in catalog.in_directory(cwd)[:MAX_PROMPT_SESSIONS]:
        remaining -= session.size
        if remaining < 0:
            break
        try:
            prompts |= dict.fromkeys(reversed(read_prompts(session.path)))
        except OSError:  # removed since it was listed
            continue
    return list(prompts)


def _searchable_text(session: ListedSession) -> str:
    facts = session.summary
    return f"{facts.name or ''} {facts.first_message} {facts.cwd} {facts.id}"


def _first_passage(
    session: ListedSession, lines: Iterable[bytes], pattern: re.Pattern[str]
) -> Passage | None:
    for line in lines:
        entry = read_object(line) or {}
        for text in _visible_texts(entry):
            if hit := pattern.search(text):
                excerpt = text[max(hit.start() - EXCERPT_MARGIN, 0) : hit.end() + EXCERPT_MARGIN]
                return Passage(
                    session=session, entry_id=str(entry.get("id", "")), excerpt=one_line(excerpt)
                )
    return None


def _visible_texts(entry: Json) -> Iterator[str]:
    """Yield the visible text of an entry; prompts and data do not count."""
    match entry:
        case {"type": "message", "message": {"role": "bashExecution", "command": str(command)}}:
            yield command
        case {"type": "message", "message": {"role": str(role), "content": content}}:
            if role != "system":
                yield from _content_texts(content)
        case {"type": "custom_message", "content": content}:
            yield from _content_texts(content)
        case {"type": "compaction" | "branch_summary", "summary": str(summary)}:
            yield summary
        case _:
            return


def _content_texts(content: object) -> Iterator[str]:
    match content:
        case str():
            yield content
        case list():
            for block in content:
                match block:
                    case {"type": "text", "text": str(text)}:
                        yield text
                    case _:
                        pass

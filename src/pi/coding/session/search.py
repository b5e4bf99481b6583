"""Finding sessions by what a list shows of them, or by what was said in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from pi.ai.messages import Json
from pi.base.files import open_regular
from pi.base.fuzzy import rank
from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.coding.session.catalog import READERS, ListedSession
from pi.coding.session.reading import read_object

AROUND = 60
"""Characters that are shown before and after what was found."""


class Passage(Record):
    """A session in which the words were said, and where they first were."""

    session: ListedSession
    entry_id: str
    excerpt: str


def search_sessions(query: str, sessions: Sequence[ListedSession]) -> list[ListedSession]:
    """The sessions whose name, first message, directory or id fit the words of ``query``.

    Those that have all words as typed keep their order, which is that of their last use. After
    them come those that only resemble the query, the most similar first.
    """
    words = query.lower().split()
    texts = {session.path: _shown(session) for session in sessions}
    exact = [s for s in sessions if all(word in texts[s.path].lower() for word in words)]
    known = {session.path for session in exact}
    rest = [session for session in sessions if session.path not in known]
    return exact + rank(query, rest, key=lambda session: texts[session.path])


def search_texts(query: str, sessions: Sequence[ListedSession]) -> list[Passage]:
    """Where ``query`` was said, in the order of the sessions. Reads their files: use a thread."""
    if not (wanted := query.strip()):
        return []
    # A line is read as JSON only if the query is in it as JSON writes it.
    written = re.compile(re.escape(json.dumps(wanted, ensure_ascii=False)[1:-1]), re.IGNORECASE)
    said = re.compile(re.escape(wanted), re.IGNORECASE)

    def look(session: ListedSession) -> Passage | None:
        try:
            with open_regular(session.path) as file:
                lines = (line for line in file if written.search(line.decode(errors="replace")))
                return _first_passage(session, lines, said)
        except OSError:  # removed since it was listed
            return None

    with ThreadPoolExecutor(READERS) as readers:
        return [passage for passage in readers.map(look, sessions) if passage is not None]


def _shown(session: ListedSession) -> str:
    facts = session.facts
    return f"{facts.name or ''} {facts.first_message} {facts.cwd} {facts.id}"


def _first_passage(
    session: ListedSession, lines: Iterable[bytes], said: re.Pattern[str]
) -> Passage | None:
    for line in lines:
        entry = read_object(line) or {}
        for text in _texts(entry):
            if hit := said.search(text):
                around = text[max(hit.start() - AROUND, 0) : hit.end() + AROUND]
                return Passage(
                    session=session, entry_id=str(entry.get("id", "")), excerpt=one_line(around)
                )
    return None


def _texts(entry: Json) -> Iterator[str]:
    """What a person would call the words of an entry; prompts and data are none."""
    match entry:
        case {"type": "message", "message": {"role": "bashExecution", "command": str(command)}}:
            yield command
        case {"type": "message", "message": {"role": str(role), "content": content}}:
            if role != "system":
                yield from _words(content)
        case {"type": "custom_message", "content": content}:
            yield from _words(content)
        case {"type": "compaction" | "branch_summary", "summary": str(summary)}:
            yield summary
        case _:
            return


def _words(content: object) -> Iterator[str]:
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

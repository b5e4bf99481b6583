"""What a list of sessions shows of one, read from its file without decoding the conversation.

Nearly every line is known by how it begins; only the header, the first thing the person said, names
and lines of an unusual form are decoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile
from pathlib import Path
from typing import BinaryIO

from pi.ai.messages import Json
from pi.base.files import open_regular
from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.coding.session.naming import clean_name
from pi.coding.session.reading import lines_of, read_object
from pi.coding.session.stamps import milliseconds

FIRST_MESSAGE = 400
"""Characters that are kept of the first message."""

_READ_AHEAD = 1 << 16
_LONGEST_HEADER = 1 << 16
_MOST_BEFORE_HEADER = 64
"""Pieces of that length in which a header is looked for behind damage."""

# How pi and we begin a line. A torn line may begin so too and is counted: nothing else is lost.
_MESSAGE = re.compile(
    rb'\{"type":"message","id":"[^"\\]*","parentId":(?:null|"[^"\\]*"),"timestamp":"([^"\\]*)",'
    rb'"message":\{"role":"(\w+)"'
)
_TELLS_NOTHING = re.compile(rb'\{"type":"(?!message"|session_info")[^"\\]*"')


class SessionFacts(Record, array_like=True, gc=False):
    """What is known of a session without opening it. Times are milliseconds since 1970."""

    id: str
    cwd: str
    """Empty if the file does not say."""
    created_ms: int
    parent: str | None
    """The file that it was forked from."""
    name: str | None
    first_message: str
    """How the first thing that the person said begins, on one line; empty for mere pictures."""
    message_count: int
    """Everything that was said, on all branches; system prompts are not."""
    last_message_ms: int

    @property
    def active_ms(self) -> int:
        """When it was last used: something was said, or it was made. Renaming is no use."""
        return max(self.created_ms, self.last_message_ms)


def read_header(path: Path) -> Json | None:
    """The header of a session file; ``None`` if it is none. ``OSError`` if it cannot be read."""
    with open_regular(path) as file:
        return _read_header(file)


def read_facts(path: Path) -> SessionFacts | None:
    """What a file says of its session; ``None`` if it is none. ``OSError`` if it cannot be read."""
    with open_regular(path, buffering=_READ_AHEAD) as file:
        header = _read_header(file)
        if header is None:
            return None
        return gather_facts(header, (line for line in lines_of(file) if line is not None))


def gather_facts(header: Json, lines: Iterable[bytes]) -> SessionFacts:
    """The facts of a session with this header and these further lines."""
    name: str | None = None
    first: str | None = None
    count, last = 0, ""
    for role, timestamp, line in _telling(lines):
        match role:
            case "session_info":
                said = (read_object(line) or {}).get("name")
                name = (clean_name(said) if isinstance(said, str) else "") or None
            case "system":
                pass
            case _:
                count, last = count + 1, timestamp
                if first is None and role == "user":
                    first = _words(read_object(line) or {})
    return SessionFacts(
        id=header["id"],
        cwd=_text(header, "cwd"),
        created_ms=milliseconds(_text(header, "timestamp")),
        parent=_text(header, "parentSession") or None,
        name=name,
        first_message=first or "",
        message_count=count,
        last_message_ms=milliseconds(last),
    )


def _read_header(file: BinaryIO) -> Json | None:
    """The first line that holds an object, if it is a header."""
    pieces = (file.readline(_LONGEST_HEADER) for _ in range(_MOST_BEFORE_HEADER))
    for line in takewhile(bool, pieces):
        if (data := read_object(line)) is not None:
            is_header = data.get("type") == "session" and isinstance(data.get("id"), str)
            return data if is_header else None
    return None


def _telling(lines: Iterable[bytes]) -> Iterator[tuple[str, str, bytes]]:
    """The lines that say something to a list: the role of a message, or its type; its time."""
    for line in lines:
        if known := _MESSAGE.match(line):
            yield known[2].decode(), known[1].decode(errors="replace"), line
        elif not _TELLS_NOTHING.match(line) and (data := read_object(line)) is not None:
            match data:
                case {"type": "message", "message": {"role": str(role)}}:
                    yield role, _text(data, "timestamp"), line
                case {"type": "session_info"}:
                    yield "session_info", "", line


def _words(entry: Json) -> str:
    match entry:
        case {"message": {"content": str(text)}}:
            words = text
        case {"message": {"content": list(blocks)}}:
            words = " ".join(
                block["text"]
                for block in blocks
                if isinstance(block, dict) and isinstance(block.get("text"), str)
            )
        case _:
            words = ""
    return one_line(words[: 2 * FIRST_MESSAGE])[:FIRST_MESSAGE]


def _text(data: Json, key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""

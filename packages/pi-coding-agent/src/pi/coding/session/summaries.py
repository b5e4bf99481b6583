"""Summaries of sessions.

Files are read without decoding the conversation. Nearly every line is recognised by its prefix;
only the header, the first user message, names and unusual lines are decoded.
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
from pi.coding.session.reading import lines_of, read_object
from pi.coding.session.writing import clean_name, milliseconds

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

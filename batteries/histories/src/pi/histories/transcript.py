"""Builds a session from a transcript: entries with stable ids, and counts of what was left out."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from pi.ai.messages import Image, Json, Text
from pi.base.json_lines import encode_line
from pi.base.records import Record, replace
from pi.coding.session.entries import (
    SESSION_VERSION,
    KnownEntry,
    MessageEntry,
    ModelChange,
    SessionHeader,
)
from pi.coding.session.reading import read_object
from pi.coding.session.writing import milliseconds

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_DATA_URL = re.compile(r"data:([\w.+/-]+);base64,(.*)", re.DOTALL)
_START = "1970-01-01T00:00:00.000Z"


class ImportedSession(Record):
    """A conversation of another agent, translated."""

    id: str
    cwd: str
    timestamp: str
    entries: tuple[KnownEntry, ...]
    lost: dict[str, int]
    """Kinds of content that could not be carried over, with their counts."""

    def content(self) -> bytes:
        """Return the session file; the same transcript always has the same content."""
        header = SessionHeader(
            version=SESSION_VERSION, id=self.id, timestamp=self.timestamp, cwd=self.cwd
        )
        return b"".join(map(encode_line, (header, *self.entries)))


class TranscriptBuilder:
    """Collects entries. Ids depend on the source only, so that a second import finds the first."""

    def __init__(self) -> None:
        self.entries: list[KnownEntry] = []
        self._indexes: dict[str, int] = {}
        self.lost: Counter[str] = Counter()
        self.id = ""
        self.cwd = ""
        self.timestamp = ""
        self._model: tuple[str, str] | None = None

    def add(self, key: str, entry: KnownEntry, parent: str | None, timestamp: str) -> str:
        """Append an entry; ``key`` identifies it in the source. Returns its id."""
        digest = hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
        length = 8
        while digest[:length] in self._indexes and length < len(digest):
            length += 1
        id = digest[:length]
        stamp = self.stamp(timestamp)
        self._indexes[id] = len(self.entries)
        self.entries.append(replace(entry, id=id, parent_id=parent, timestamp=stamp))
        return id

    def use_model(
        self, provider: str, model: str, parent: str | None, timestamp: str
    ) -> str | None:
        """Record a change of the model; returns the parent of the next entry."""
        if not model or self._model == (provider, model):
            return parent
        self._model = (provider, model)
        change = ModelChange(provider=provider, model_id=model)
        return self.add(f"model {len(self.entries)} {provider} {model}", change, parent, timestamp)

    def get(self, id: str) -> KnownEntry:
        """Return an entry by its id."""
        return self.entries[self._indexes[id]]

    def put(self, id: str, entry: KnownEntry) -> None:
        """Replace an entry that has grown."""
        self.entries[self._indexes[id]] = entry

    def stamp(self, timestamp: object) -> str:
        """Return the time if it is valid, else that of the previous entry."""
        if isinstance(timestamp, str) and _TIME.fullmatch(timestamp):
            self.timestamp = self.timestamp or timestamp
            return timestamp
        return self.entries[-1].timestamp if self.entries else self.timestamp or _START

    def finish(self) -> ImportedSession | None:
        """Return the transcript; ``None`` if it has no session id or no message."""
        if not self.id or not any(isinstance(entry, MessageEntry) for entry in self.entries):
            return None
        return ImportedSession(
            id=self.id,
            cwd=self.cwd,
            timestamp=self.timestamp or _START,
            entries=tuple(self.entries),
            lost=dict(self.lost),
        )


def objects(lines: Iterable[bytes], lost: Counter[str]) -> Iterator[Json]:
    """Yield the JSON objects of lines; others are counted as lost."""
    for line in lines:
        if not line.strip():
            continue
        value = read_object(line)
        if value is None:
            lost["lines that are not JSON"] += 1
        else:
            yield value


def in_ms(timestamp: str) -> int:
    """Return a time of an entry in milliseconds since 1970."""
    return milliseconds(timestamp)


def image_from_url(url: object) -> Image | None:
    """Return the picture of a data URL; ``None`` for other values."""
    match = _DATA_URL.fullmatch(url) if isinstance(url, str) else None
    return None if match is None else image_from_base64(match[2], match[1])


def image_from_base64(data: object, media_type: object) -> Image | None:
    """Return a picture; ``None`` if the data is invalid."""
    if not isinstance(data, str) or not isinstance(media_type, str):
        return None
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    return Image(data=data, mime_type=media_type)


def content_or_note(blocks: list[Text | Image]) -> tuple[Text | Image, ...]:
    """Return the content of a result; one without any content gets a note."""
    return tuple(blocks) or (Text(text="(no output)"),)

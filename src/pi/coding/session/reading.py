"""The bytes of a session file → its header, its entries and what the tree must know of each.

Opening a file looks at every line but decodes only the outline of it; the whole entry is decoded
when it is asked for. The line itself is kept, so that nothing this version does not know is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pi.ai.messages import Json
from pi.base.json_lines import BadLine, decode_line, encode_line
from pi.base.records import UNSET, Record
from pi.coding.session.entries import (
    SESSION_VERSION,
    Entry,
    KnownEntry,
    SessionHeader,
    UnknownEntry,
)
from pi.coding.session.errors import NotASession
from pi.coding.session.migration import NewId, migrate, version_of


class Outline(Record, gc=False):
    """What the tree knows of an entry."""

    type: str
    id: str
    parent_id: str | None = None
    timestamp: str = ""
    target_id: str | None = None
    """Of labels and context edits."""
    label: str | None = None
    name: str | None = None
    """Of session information."""


@dataclass(frozen=True)
class SessionFile:
    """What a file holds."""

    header: SessionHeader
    lines: list[bytes]
    """The entries, one line each, without the LF."""
    outlines: list[Outline]
    """Of the same entries."""
    migrated: bytes | None = None
    """What the file is to be replaced with, if it was of an older version."""


_OUTLINES = msgspec.json.Decoder(Outline)
_ENTRIES: msgspec.json.Decoder[KnownEntry] = msgspec.json.Decoder(KnownEntry)
# A ValidationError is a DecodeError. The others: text that is not UTF-8, nesting without end.
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def parse_session(data: bytes, path: Path, new_id: NewId) -> SessionFile:
    """What a session file that is not empty holds; ``NotASession`` if it is none.

    Lines that are no entries are passed over. ``path`` is for the error message.
    """
    lines = data.split(b"\n")
    at, header = _find_header(lines, path)
    migrated = None
    if version_of(header) < SESSION_VERSION:
        lines, header = _migrated(lines, at, new_id)
        migrated = b"\n".join(lines)
    entries, outlines = _entries(lines[at + 1 :])
    return SessionFile(
        header=_header(header), lines=entries, outlines=outlines, migrated=migrated
    )


def outline(line: bytes) -> Outline | None:
    """The outline of a line; ``None`` if it is no entry."""
    data = read_object(line)
    if data is None:
        return None
    texts = {key: value for key, value in data.items() if isinstance(value, str)}
    if "type" not in texts or "id" not in texts:
        return None
    return msgspec.convert(texts, Outline)


def decode_entry(line: bytes, known: Outline) -> Entry:
    """The whole entry; an ``UnknownEntry`` if it is of no kind or shape that is known."""
    try:
        return _ENTRIES.decode(line)
    except _UNREADABLE:
        data = read_object(line)
    if data is None:
        data = msgspec.to_builtins(known)
    try:
        return msgspec.convert(_without_nulls(data), KnownEntry, strict=False)
    except msgspec.ValidationError:
        return UnknownEntry(
            data=data, id=known.id, parent_id=known.parent_id, timestamp=known.timestamp
        )


def read_object(line: bytes) -> Json | None:
    """The JSON object of a line, ``None`` if it holds none. Bad UTF-8 is read as U+FFFD."""
    value = _read(line)
    return value if isinstance(value, dict) else None


def _read(line: bytes) -> object:
    """The JSON value of a line; ``None`` also for one that is not valid."""
    try:
        return decode_line(line)
    except BadLine:
        mended = line.decode("utf-8", "replace").encode()
    try:
        return decode_line(mended)
    except BadLine:
        return None


def _entries(lines: Sequence[bytes]) -> tuple[list[bytes], list[Outline]]:
    entries: list[bytes] = []
    outlines: list[Outline] = []
    decode = _OUTLINES.decode
    for line in lines:
        found: Outline | None
        try:
            found = decode(line)
        except _UNREADABLE:
            found = outline(line)
        if found is not None and found.id and found.type != "session":
            entries.append(line)
            outlines.append(found)
    return entries, outlines


def _find_header(lines: Sequence[bytes], path: Path) -> tuple[int, Json]:
    """The first line that holds JSON, if it is a header."""
    for at, line in enumerate(lines):
        value = _read(line)
        if value is None:
            continue
        if isinstance(value, dict) and value.get("type") == "session":
            if isinstance(value.get("id"), str):
                return at, value
        break
    raise NotASession(path)


def _header(data: Json) -> SessionHeader:
    """What is known of a header; what others have added stays in the file."""
    texts = {key: value for key, value in data.items() if isinstance(value, str)}
    return SessionHeader(
        version=version_of(data),
        id=texts["id"],
        timestamp=texts.get("timestamp", ""),
        cwd=texts.get("cwd", ""),
        parent_session=texts.get("parentSession", UNSET),
    )


def _migrated(lines: Sequence[bytes], at: int, new_id: NewId) -> tuple[list[bytes], Json]:
    """The lines in the current version, and their header; lines that do not change stay."""
    found = [(place, read_object(lines[place])) for place in range(at, len(lines))]
    records = [(place, record) for place, record in found if record is not None]
    renewed = migrate([record for _, record in records], new_id)
    migrated = list(lines)
    for (place, old), new in zip(records, renewed, strict=True):
        if new != old:
            migrated[place] = encode_line(new).removesuffix(b"\n")
    return migrated, renewed[0]


def _without_nulls(data: Json) -> Json:
    """``data`` without fields that say nothing: some writers say null for absent or not a number.

    Only where fields are known: null means something in tool arguments and in sections.
    """
    return {
        key: _without_nulls(value)
        if isinstance(value, dict) and key in ("message", "usage", "cost")
        else value
        for key, value in data.items()
        if value is not None or key == "replacement"
    }

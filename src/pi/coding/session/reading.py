"""The bytes of a session file → its header, its entries and what the tree must know of each.

Opening a file looks at every line but decodes only the outline of it; the whole entry is decoded
when it is asked for. The line itself is kept, so that nothing this version does not know is lost.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import BinaryIO, get_args

import msgspec
from msgspec import UNSET

from pi.ai.messages import Json
from pi.base.files import FileAccessError, is_special_file, open_regular
from pi.base.json_lines import BadLine, decode_line, encode_line
from pi.base.records import UNREADABLE, Record
from pi.coding.session.entries import (
    SESSION_VERSION,
    Entry,
    KnownEntry,
    SessionHeader,
    UnknownEntry,
)
from pi.coding.session.errors import NotASession

# Older session files as the current version writes them. Pure, on JSON.


NewId = Callable[[Container[str]], str]
"""Makes an id that is not among those taken."""


def version_of(header: Json) -> int:
    """The version of a file by its header; one that says none is of the first.

    What is no number was not written by any version: it is taken for the current one, so that the
    file is left as it is.
    """
    version = header.get("version", 1)
    return version if type(version) is int else SESSION_VERSION


def migrate(records: Sequence[Json], new_id: NewId) -> list[Json]:
    """The records of a file, header first, in the current version; those of one are unchanged."""
    version = version_of(records[0])
    migrated = list(records)
    if version < 2:
        migrated = _as_a_tree(migrated, new_id)
    if version < 3:
        migrated = [_with_custom_role(record) for record in migrated]
        migrated[0] = migrated[0] | {"version": SESSION_VERSION}
    return migrated


def _as_a_tree(records: list[Json], new_id: NewId) -> list[Json]:
    """Every entry gets an id and follows the one before it; one that has an id keeps its place."""
    tree = records[:1]
    taken: set[str] = {str(record.get("id")) for record in records[1:]}
    parent: str | None = None
    for record in records[1:]:
        if not isinstance(record.get("id"), str):
            record = record | {"id": new_id(taken), "parentId": parent}
        parent = record["id"]
        taken.add(record["id"])
        tree.append(record)
    return [_with_kept_id(record, tree) for record in tree]


def _with_kept_id(record: Json, tree: list[Json]) -> Json:
    """A compaction that names its first kept entry by number, naming it by id."""
    if record.get("type") != "compaction" or "firstKeptEntryIndex" not in record:
        return record
    compaction = dict(record)
    index = compaction.pop("firstKeptEntryIndex")
    known = type(index) is int and 0 <= index < len(tree)
    # Number 0 is the header, so all was kept. A number of no entry keeps nothing: its own id.
    kept = tree[max(index, 1)] if known else record
    return compaction | {"firstKeptEntryId": kept["id"]}


def _with_custom_role(record: Json) -> Json:
    message = record.get("message")
    if isinstance(message, dict) and message.get("role") == "hookMessage":
        return record | {"message": message | {"role": "custom"}}
    return record


class Outline(Record, gc=False):
    """What the tree knows of an entry."""

    type: str
    id: str
    parent_id: str | None = None


class SessionFile(Record, kw_only=False):
    """What a file holds."""

    header: SessionHeader
    lines: list[bytes]
    """The entries, one line each, with its LF unless that was lost."""
    outlines: list[Outline]
    """Of the same entries."""
    migrated: bytes | None = None
    """What the file is to hold instead, if it is of an older version."""


LONGEST_LINE = 128 * 1024 * 1024
"""Bytes of an entry: twice the largest answer, because JSON escapes some of its characters."""
_READ_AHEAD = 1 << 18
_OUTLINES = msgspec.json.Decoder(Outline)
_KINDS = {str(kind.__struct_config__.tag): kind for kind in get_args(KnownEntry)}


@cache
def _entry_decoder(type: str) -> msgspec.json.Decoder[KnownEntry]:
    """Made for the first entry of its kind: all kinds together take long, and few are met early."""
    return msgspec.json.Decoder(_KINDS[type])


@cache
def _entry_start() -> re.Pattern[bytes]:
    return re.compile(rf'{{"type":"(?:{"|".join(_KINDS)})","(?:id|customType)":'.encode())


def read_file(path: Path) -> list[bytes]:
    """The lines of a file with their LF, which is the only thing that ends a line.

    There are none where there is no such file. A line without end, such as a file system may leave
    after a crash, is ``FileAccessError``: it would be in memory several times.
    """
    try:
        if is_special_file(path):
            raise NotASession(path)
        with open_regular(path, buffering=_READ_AHEAD) as file:
            return [_whole(line, path) for line in lines_of(file)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise FileAccessError(f"Cannot read {path}: {error.strerror or error}.") from error


def lines_of(file: BinaryIO) -> Iterator[bytes | None]:
    """The lines of a file; ``None`` for one of more than ``MAX_LINE_BYTES``, which is not kept."""
    if os.fstat(file.fileno()).st_size <= LONGEST_LINE:
        yield from file  # twice as fast, and nearly every file is small
        return
    held: list[bytes] = []
    size = 0
    while piece := file.readline(_READ_AHEAD):
        size += len(piece)
        if size <= LONGEST_LINE:
            held.append(piece)
        else:
            held.clear()
        if piece.endswith(b"\n"):
            yield b"".join(held) if held else None
            held, size = [], 0
    if size:
        yield b"".join(held) if held else None


def _whole(line: bytes | None, path: Path) -> bytes:
    if line is not None:
        return line
    raise FileAccessError(
        f"Cannot read {path}: it has a line of more than {LONGEST_LINE >> 20} MiB.",
        hint="No session of pi has such a line: the file is damaged, or not a session.",
    )


def parse_session(lines: list[bytes], path: Path, new_id: NewId) -> SessionFile:
    """What the lines of a session file say; ``NotASession`` if it is none.

    Lines that are no entries are passed over. ``path`` is for the error message.
    """
    at, header = _find_header(lines, path)
    migrated = None
    if version_of(header) < SESSION_VERSION:
        lines, header = _migrated(lines, at, new_id)
        migrated = b"".join(lines)
    entries, outlines = _entries(lines[at + 1 :])
    return SessionFile(_header(header), entries, outlines, migrated)


def read_outline(line: bytes) -> Outline | None:
    """The outline of a line; ``None`` if it is no entry."""
    _, found = _entries([line])
    return found[0] if found else None


def decode_entry(line: bytes, known: Outline) -> Entry:
    """The whole entry; an ``UnknownEntry`` if it is of no kind or shape that is known."""
    try:
        return _entry_decoder(known.type).decode(line)
    except (KeyError, *UNREADABLE):  # of a kind, or of a shape, that is not known
        data = read_object(line)
    if data is None:
        data = msgspec.to_builtins(known)
    try:
        entry: KnownEntry = msgspec.convert(_without_nulls(data), KnownEntry, strict=False)
        return entry
    except msgspec.ValidationError:
        return UnknownEntry(
            data=data, id=known.id, parent_id=known.parent_id, timestamp=_time(data)
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
    decode = _OUTLINES.decode  # looked up once: this loop is what opening a session costs
    for line in lines:
        try:
            found = decode(line)
        except UNREADABLE:
            for part, known in _careful_outlines(line):
                entries.append(part)
                outlines.append(known)
            continue
        if found.id and found.type != "session":
            entries.append(line)
            outlines.append(found)
    return entries, outlines


def _careful_outlines(line: bytes) -> list[tuple[bytes, Outline]]:
    """The entries of an unusual line: at most one, or two that have lost the LF between them.

    Programs that append to a torn line without ending it make such lines, and so does damage.
    """
    if (whole := _careful_outline(line)) is not None:
        return [(line, whole)]
    for start in _entry_start().finditer(line, 1):
        at = start.start()
        if (second := _careful_outline(line[at:])) is not None:
            parts = ((part, _careful_outline(part)) for part in (line[:at], line[: at - 1]))
            first = [(part, known) for part, known in parts if known is not None]
            return [*first[:1], (line[at:], second)]
    return []


def _careful_outline(line: bytes) -> Outline | None:
    """The outline of a line where a field is not what it is elsewhere, or a text is damaged."""
    data = read_object(line) or {}
    texts = {key: value for key, value in data.items() if isinstance(value, str)}
    if not texts.get("id") or texts.get("type", "session") == "session":
        return None
    return msgspec.convert(texts, Outline)


def _find_header(lines: Sequence[bytes], path: Path) -> tuple[int, Json]:
    """The first line that holds JSON, if it is a header."""
    for at, line in enumerate(lines):
        match _read(line):
            case None:
                continue
            case {"type": "session", "id": str()} as header if isinstance(header, dict):
                return at, header
            case _:
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
            migrated[place] = encode_line(new)
    return migrated, renewed[0]


def _time(data: Json) -> str:
    timestamp = data.get("timestamp")
    return timestamp if isinstance(timestamp, str) else ""


def _without_nulls(data: Json) -> Json:
    """``data`` without fields that say nothing: some writers say null for absent or not a number.

    Only where fields are known: null means something in tool arguments and in sections. A content
    of null becomes an empty one, because messages without the field are not valid.
    """
    kept = {
        key: _without_nulls(value)
        if isinstance(value, dict) and key in ("message", "usage", "cost")
        else value
        for key, value in data.items()
        if value is not None or key == "replacement"
    }
    if data.get("content", ...) is None and ("role" in data or "customType" in data):
        kept["content"] = []
    return kept

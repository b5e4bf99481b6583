"""Parses session files: header, entries, outlines; migrates old versions.

Opening a file reads every line but decodes only its outline; the log decodes an entry on access.
The line itself is kept, so that unknown fields are not lost.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec
from msgspec import UNSET

from pi.ai.messages import Json
from pi.base.files import FileAccessError, is_special_file, open_regular
from pi.base.json_lines import BadLine, decode_line, encode_line
from pi.base.records import UNREADABLE, Record
from pi.coding.session.entries import (
    ENTRY_KINDS,
    SESSION_VERSION,
    CustomMessageEntry,
    SessionHeader,
)
from pi.coding.session.errors import NotASession

NewId = Callable[[Container[str]], str]
"""Returns an id that is not among those taken."""


def version_of(header: Json) -> int:
    """Return the version in a header; a header without one has version 1.

    A value that is not a number was not written by any version: it counts as the current one, so
    that the file is not changed.
    """
    version = header.get("version", 1)
    return version if type(version) is int else SESSION_VERSION


def migrate(records: Sequence[Json], new_id: NewId) -> list[Json]:
    """Convert the records of a file, header first, to the current version."""
    version = version_of(records[0])
    migrated = list(records)
    if version < 2:
        migrated = _as_a_tree(migrated, new_id)
    if version < 3:
        migrated = [_with_custom_role(record) for record in migrated]
        migrated[0] = migrated[0] | {"version": SESSION_VERSION}
    return migrated


def _as_a_tree(records: list[Json], new_id: NewId) -> list[Json]:
    """Give every entry an id and link it to the one before; an entry with an id is unchanged."""
    tree = records[:1]
    used_ids: set[str] = {str(record.get("id")) for record in records[1:]}
    parent: str | None = None
    for record in records[1:]:
        if not isinstance(record.get("id"), str):
            record = record | {"id": new_id(used_ids), "parentId": parent}
        parent = record["id"]
        used_ids.add(record["id"])
        tree.append(record)
    return [_with_kept_id(record, tree) for record in tree]


def _with_kept_id(record: Json, tree: list[Json]) -> Json:
    """Replace the number of the first kept entry of a compaction by its id."""
    if record.get("type") != "compaction" or "firstKeptEntryIndex" not in record:
        return record
    compaction = dict(record)
    index = compaction.pop("firstKeptEntryIndex")
    is_in_tree = type(index) is int and 0 <= index < len(tree)
    # Number 0 is the header: everything was kept. An invalid number keeps nothing: its own id.
    first_kept = tree[max(index, 1)] if is_in_tree else record
    return compaction | {"firstKeptEntryId": first_kept["id"]}


def _with_custom_role(record: Json) -> Json:
    message = record.get("message")
    if isinstance(message, dict) and message.get("role") == "hookMessage":
        return record | {"message": message | {"role": "custom"}}
    return record


class Outline(Record, gc=False):
    """The fields of an entry that the tree needs."""

    type: str
    id: str
    parent_id: str | None = None


class SessionFile(Record, kw_only=False):
    """The content of a file."""

    header: SessionHeader
    lines: list[bytes]
    """The entries, one line each, with its LF unless that was lost."""
    outlines: list[Outline]
    """The outlines of the same entries."""
    migrated: bytes | None = None
    """New content of the file, if it has an older version."""


MAX_LINE_BYTES = 128 * 1024 * 1024
"""Maximum bytes of an entry: twice the largest response, because JSON escapes some characters."""
_READ_AHEAD = 1 << 18
_END_BYTES = 4096
"""Part of a line over the limit in which its id is searched, at either end."""
_OUTLINES = msgspec.json.Decoder(Outline)


@cache
def _entry_start() -> re.Pattern[bytes]:
    return re.compile(rf'{{"type":"(?:{"|".join(ENTRY_KINDS)})","(?:id|customType)":'.encode())


class LongLine(NamedTuple):
    """A line over the limit, as a file system may leave one after a crash."""

    head: bytes
    tail: bytes
    size: int


def read_file(path: Path, report: Callable[[str], None] | None = None) -> list[bytes]:
    """Return the lines of a file with their LF, the only line terminator.

    Empty if the file does not exist. A line over the limit is reported and replaced by a note in
    the tree, because it would be in memory several times. Without ``report``, for callers that copy
    the file, it raises ``FileAccessError``.
    """
    try:
        if is_special_file(path):
            raise NotASession(path)
        with open_regular(path, buffering=_READ_AHEAD) as file:
            return [readable_line(line, path, report) for line in lines_of(file)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise FileAccessError(f"Cannot read {path}: {error.strerror or error}.") from error


def lines_of(file: BinaryIO, limit: int = MAX_LINE_BYTES) -> Iterator[bytes | LongLine]:
    """Yield the lines of a file; a line over the limit as ``LongLine``."""
    if os.fstat(file.fileno()).st_size <= limit:
        # Twice as fast, and nearly every file is small. A generator that ends early closes what it
        # yields from; a chain has nothing to close.
        yield from chain(file)
        return
    while piece := file.readline(_READ_AHEAD):
        ends = len(piece) < _READ_AHEAD or piece.endswith(b"\n")
        yield piece if ends else _line_from(piece, file, limit)


def _line_from(head: bytes, file: BinaryIO, limit: int) -> bytes | LongLine:
    """Return the line that begins with ``head``, which was read from the file.

    Its length is found first, so that nothing of a line over the limit is held in memory.
    """
    size, tail = len(head), head[-_END_BYTES:]
    while not tail.endswith(b"\n") and (piece := file.readline(_READ_AHEAD)):
        size += len(piece)
        tail = (tail + piece[-_END_BYTES:])[-_END_BYTES:]
    if size > limit:
        return LongLine(head[:_END_BYTES], tail, size)
    file.seek(-size, os.SEEK_CUR)
    return file.read(size)


def readable_line(
    line: bytes | LongLine, path: Path, report: Callable[[str], None] | None
) -> bytes:
    """Return a line; instead of one over the limit, a note, which is reported."""
    if not isinstance(line, LongLine):
        return line
    size, limit = f"{line.size >> 20} MiB", f"{MAX_LINE_BYTES >> 20} MiB"
    if report is None:
        raise FileAccessError(
            f"Cannot read {path}: it has a line of {size}, more than {limit}.",
            hint="The session can be opened, exported and forked without that line.",
        )
    report(
        f"{path} has an entry of {size}, more than {limit}: it is left out, and stays in the file."
    )
    return _make_note(line, size)


_HEAD = (
    rb'\{"type":"\w+","id":"(?P<id>[^"\\]+)","parentId":(?P<parent>null|"[^"\\]+")'
    rb'(?:,"timestamp":"(?P<time>[^"\\]*)")?'
)
_TAIL = (
    rb'"id":"(?P<id>[^"\\]+)","parentId":(?P<parent>null|"[^"\\]+"),'
    rb'"timestamp":"(?P<time>[^"\\]*)"\}\s*\Z'
)


def _make_note(line: LongLine, size: str) -> bytes:
    """Return an entry with id and parent of a line that is too long; an empty line without id."""
    match = re.match(_HEAD, line.head) or re.search(_TAIL, line.tail)
    if match is None:
        return b"\n"
    id, parent, time = (match[name] or b"" for name in ("id", "parent", "time"))
    return encode_line(
        CustomMessageEntry(
            custom_type="oversized-entry",
            content=f"[An entry of {size} was here. It is too large to be read.]",
            id=id.decode("utf-8", "replace"),
            parent_id=None if parent == b"null" else parent[1:-1].decode("utf-8", "replace"),
            timestamp=time.decode("utf-8", "replace"),
        )
    )


def parse_session(lines: list[bytes], path: Path, new_id: NewId) -> SessionFile:
    """Parse the lines of a session file; raises ``NotASession``.

    Lines that are not entries are skipped. ``path`` is for the error message.
    """
    header_index, header = _find_header(lines, path)
    migrated = None
    if version_of(header) < SESSION_VERSION:
        lines, header = _migrate_lines(lines, header_index, new_id)
        migrated = b"".join(lines)
    entries, outlines = _split_entries(lines[header_index + 1 :])
    return SessionFile(_decode_header(header), entries, outlines, migrated)


def read_outline(line: bytes) -> Outline | None:
    """Return the outline of a line; ``None`` if it is not an entry."""
    _, outlines = _split_entries([line])
    return outlines[0] if outlines else None


def read_object(line: bytes) -> Json | None:
    """Return the JSON object in a line, or ``None``. Invalid UTF-8 is read as U+FFFD."""
    value = _read(line)
    return value if isinstance(value, dict) else None


def _read(line: bytes) -> object:
    """Return the JSON value in a line; ``None`` if it is invalid."""
    try:
        return decode_line(line)
    except BadLine:
        repaired = line.decode("utf-8", "replace").encode()
    try:
        return decode_line(repaired)
    except BadLine:
        return None


def _split_entries(lines: Sequence[bytes]) -> tuple[list[bytes], list[Outline]]:
    entries: list[bytes] = []
    outlines: list[Outline] = []
    decode = _OUTLINES.decode  # looked up once: this loop dominates opening a session
    for line in lines:
        try:
            outline = decode(line)
        except UNREADABLE:
            for part, part_outline in _careful_outlines(line):
                entries.append(part)
                outlines.append(part_outline)
            continue
        if outline.id and outline.type != "session":
            entries.append(line)
            outlines.append(outline)
    return entries, outlines


def _careful_outlines(line: bytes) -> list[tuple[bytes, Outline]]:
    """Return the entries of an unusual line: none, one, or two without an LF between them.

    Such lines result from damage, and from programs that append to an incomplete line.
    """
    if (outline := _careful_outline(line)) is not None:
        return [(line, outline)]
    for start in _entry_start().finditer(line, 1):
        split = start.start()
        if (second := _careful_outline(line[split:])) is not None:
            parts = ((part, _careful_outline(part)) for part in (line[:split], line[: split - 1]))
            first = [
                (part, part_outline) for part, part_outline in parts if part_outline is not None
            ]
            return [*first[:1], (line[split:], second)]
    return []


def _careful_outline(line: bytes) -> Outline | None:
    """Return the outline of a line with an unexpected field type or damaged text."""
    data = read_object(line) or {}
    texts = {key: value for key, value in data.items() if isinstance(value, str)}
    if not texts.get("id") or texts.get("type", "session") == "session":
        return None
    return msgspec.convert(texts, Outline)


def split_entries(line: bytes) -> list[tuple[bytes, Outline]]:
    """Return the entries in a line with their outlines: usually one."""
    entries, outlines = _split_entries([line])
    return list(zip(entries, outlines, strict=True))


def read_header_line(line: bytes) -> SessionHeader | None:
    """Return the header in a line, if it has one."""
    data = read_object(line)
    match data:
        case {"type": "session", "id": str()} if data is not None:
            return _decode_header(data)
        case _:
            return None


def _find_header(lines: Sequence[bytes], path: Path) -> tuple[int, Json]:
    """Return the index and the content of the header, which must be the first line with JSON.

    Raises ``NotASession``.
    """
    for index, line in enumerate(lines):
        match _read(line):
            case None:
                continue
            case {"type": "session", "id": str()} as header if isinstance(header, dict):
                return index, header
            case _:
                break
    raise NotASession(path)


def _decode_header(data: Json) -> SessionHeader:
    """Decode the known fields of a header; unknown ones stay in the file."""
    texts = {key: value for key, value in data.items() if isinstance(value, str)}
    return SessionHeader(
        version=version_of(data),
        id=texts["id"],
        timestamp=texts.get("timestamp", ""),
        cwd=texts.get("cwd", ""),
        parent_session=texts.get("parentSession", UNSET),
    )


def _migrate_lines(
    lines: Sequence[bytes], header_index: int, new_id: NewId
) -> tuple[list[bytes], Json]:
    """Return the lines in the current version and their header; other lines stay unchanged."""
    numbered_records = [
        (index, read_object(lines[index])) for index in range(header_index, len(lines))
    ]
    records = [(index, record) for index, record in numbered_records if record is not None]
    renewed = migrate([record for _, record in records], new_id)
    migrated = list(lines)
    for (index, old), new in zip(records, renewed, strict=True):
        if new != old:
            migrated[index] = encode_line(new)
    return migrated, renewed[0]

"""Snapshots of a session, in parts that a relay accepts."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from pi.batteries.collab.wire import CHUNK, MAX_SNAPSHOT, BadContent, encode
from pi.extension import Json, Record


class Body:
    """Bytes that a peer fetches in chunks."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)

    @property
    def size(self) -> int:
        """Bytes in all."""
        return len(self._data)

    @property
    def count(self) -> int:
        """The number of chunks, at least one."""
        return max(1, -(-len(self._data) // CHUNK))

    def chunk(self, index: int) -> bytes:
        """One chunk."""
        return bytes(self._data[index * CHUNK : (index + 1) * CHUNK])


def snapshot_body(metadata: Json, lines: Iterable[bytes]) -> Body:
    """The body of a snapshot: a line of metadata, then the lines of the entries."""
    return Body(b"\n".join((encode(metadata), *lines)))


class Snapshot(Record):
    """A snapshot that a guest received."""

    metadata: Json
    entries: tuple[bytes, ...]
    """The lines of the entries, as the host sent them."""


def parse_snapshot(data: bytes) -> Snapshot:
    """The snapshot in a body; raises ``BadContent``."""
    first, *lines = data.split(b"\n")
    try:
        metadata = msgspec.json.decode(first)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BadContent("the snapshot is damaged") from error
    if not isinstance(metadata, dict) or not isinstance(metadata.get("header"), dict):
        raise BadContent("the snapshot is damaged")
    return Snapshot(metadata=metadata, entries=tuple(lines))


class Assembler:
    """Collects the chunks of a body, in order."""

    def __init__(self, of: str, count: int, size: int, *, limit: int = MAX_SNAPSHOT) -> None:
        if not 1 <= count <= 2**20 or not 0 <= size <= limit:
            raise BadContent("the size of a body is invalid")
        self.of = of
        self.next = 0
        self._count = count
        self._size = size
        self._parts: list[bytes] = []

    def add(self, frame: Json, data: bytes) -> bytes | None:
        """Add a chunk; returns the body after the last one. Chunks out of order are ignored."""
        if frame.get("of") != self.of or frame.get("index") != self.next:
            return None
        if len(data) > CHUNK:
            raise BadContent("the chunk is too large")
        self._parts.append(data)
        self.next += 1
        if self.next < self._count:
            return None
        body = b"".join(self._parts)
        if len(body) != self._size:
            raise BadContent("the body is incomplete")
        return body

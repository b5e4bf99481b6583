"""The entries of a session file before those that its context needs, and what is known of them.

A session with a compaction is opened from the first entry that the compaction kept. What the
start needs from the entries before is in an index: one small private file per session. It is
written when a file was read in full, replaced when it does not fit, and never needed.
"""

from __future__ import annotations

import logging
import threading
import weakref
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from os import fstat, stat_result
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from pi.base.errors import PiError
from pi.base.files import FileAccessError, open_regular, private_directory, replace_file
from pi.base.records import UNREADABLE, Record
from pi.coding.session.entries import SESSION_VERSION, Bookmark
from pi.coding.session.reading import (
    LongLine,
    Outline,
    SessionFile,
    lines_of,
    read_header_line,
    readable_line,
    split_entries,
)
from pi.coding.session.statistics import EntryTotals

logger = logging.getLogger(__name__)

FORMAT = 2
KEPT_DAYS = 90
_BLOCK_BYTES = 1 << 16
_SAMPLES = 16
_SAMPLE_BYTES = 4096


class EarlierFacts(Record):
    """What is known of the entries before ``end``."""

    format: int
    device: int
    inode: int
    size: int
    modified_ns: int
    """Identity and state of the file when the index was written."""
    sampled: int
    """Checksum of samples of the bytes before ``end``."""
    end: int
    """Offset of the first line that the context needs."""
    count: int
    """Number of entries before it."""
    short_ids: int
    long_ids: int
    """Number of ids of each kind that follow the record in the index."""
    missing_parents: tuple[str, ...] = ()
    """Parents that were not found."""
    name: str | None = None
    labels: tuple[tuple[str, Bookmark], ...] = ()
    custom_types: tuple[str, ...] = ()
    totals: EntryTotals = EntryTotals()
    above: str = ""
    """Id of the last of these entries on the branch that the file ended with."""
    level: str | None = None
    """The thinking level at that entry."""
    tools: tuple[str, ...] | None = None
    """The tools that the branch up to that entry declares; ``None`` if it declares none."""
    displayed: int = 0
    """Entries up to that one that a screen shows."""
    customs: tuple[tuple[str, int, int], ...] = ()
    """Custom entries up to that one: type, offset and length of the line."""
    prompts: tuple[tuple[int, int], ...] = ()
    """The last messages of the user in the file: offset and length of the line."""


class EntryIds:
    """A set of entry ids in 4 or 8 bytes each.

    Ids of 8 hexadecimal digits are exact; others are compared by two checksums.
    """

    def __init__(self, short: array[int] | None = None, long: array[int] | None = None) -> None:
        self.short = array("I") if short is None else short
        self.long = array("Q") if long is None else long

    def __contains__(self, id: object) -> bool:
        if not isinstance(id, str):
            return False
        number = _short_id(id)
        numbers, key = (self.long, _long_id(id)) if number is None else (self.short, number)
        index = bisect_left(numbers, key)
        return index < len(numbers) and numbers[index] == key

    def with_ids(self, ids: Iterable[str]) -> EntryIds:
        """Return the set with more ids."""
        short, long = list(self.short), list(self.long)
        for id in ids:
            number = _short_id(id)
            if number is None:
                long.append(_long_id(id))
            else:
                short.append(number)
        return EntryIds(array("I", sorted(short)), array("Q", sorted(long)))


_HEX_DIGITS = frozenset("0123456789abcdef")


def _short_id(id: str) -> int | None:
    return int(id, 16) if len(id) == 8 and _HEX_DIGITS.issuperset(id) else None


def _long_id(id: str) -> int:
    data = id.encode("utf-8", "surrogatepass")
    return zlib.crc32(data) << 32 | zlib.adler32(data)


class EarlierEntries:
    """The entries of a file before those in memory. They are read at the first access."""

    def __init__(
        self, file: BinaryIO, facts: EarlierFacts, ids: EntryIds, restore: Callable[[bytes], bytes]
    ) -> None:
        self.facts = facts
        self.ids = ids
        self._file = file
        """Stays open: the path may have another file by the time that the entries are read."""
        weakref.finalize(self, file.close)
        self._restore = restore
        self._lock = threading.Lock()
        self._outlines: list[Outline] | None = None
        self._offsets = array("q")
        self._lengths = array("q")
        self._block = (0, b"")
        """The part of the file that was read last, and its offset."""
        self._unusual: dict[int, bytes] = {}
        """By position: entries that are only a part of their line, or a note on it."""

    def may_contain(self, id: object) -> bool:
        """Whether an entry has that id; rarely true although there is none."""
        return id in self.ids

    def load(self) -> list[Outline]:
        """Return the outlines. Reads the file at the first call: 1 s for a million entries."""
        with self._lock:
            if self._outlines is None:
                self._outlines = self._read()
            return self._outlines

    def line(self, position: int) -> bytes:
        """Return the line of an entry."""
        self.load()
        if (line := self._unusual.get(position)) is not None:
            return line
        return self.line_at(self._offsets[position], self._lengths[position])

    def line_at(self, offset: int, length: int) -> bytes:
        """Return a line whose place in the file is known."""
        with self._lock:
            begin, block = self._block
            if not begin <= offset <= offset + length <= begin + len(block):
                begin = offset - offset % _BLOCK_BYTES  # serves the next lines in both directions
                self._file.seek(begin)
                block = self._file.read(max(offset + length - begin, _BLOCK_BYTES))
                self._block = begin, block
            line = block[offset - begin : offset - begin + length]
        return self._restore(line)

    def _read(self) -> list[Outline]:
        outlines: list[Outline] = []
        offsets, lengths = array("q"), array("q")
        offset, end = 0, self.facts.end
        self._file.seek(0)
        for line in lines_of(self._file):
            if offset >= end:
                break
            length = line.size if isinstance(line, LongLine) else len(line)
            text = readable_line(line, Path(str(self._file.name)), logger.warning)
            for part, outline in split_entries(text):
                if part is not line:
                    self._unusual[len(outlines)] = part
                outlines.append(outline)
                offsets.append(offset)
                lengths.append(length)
            offset += length
        if len(outlines) != self.facts.count or offset != end:
            raise FileAccessError(
                f"Cannot read {self._file.name}: another program has changed it.",
                hint="Open the session again.",
            )
        self._offsets, self._lengths = offsets, lengths
        return outlines


class Tail(NamedTuple):
    """The part of a session file that its context needs."""

    content: SessionFile
    earlier: EarlierEntries
    stored: list[bytes]
    """Its lines as they are in the file."""
    restored: list[bytes]
    """The same lines with their images."""


def read_tail(path: Path, folder: Path, restore: Callable[[bytes], bytes]) -> Tail | None:
    """Return the end of a session file.

    ``None`` if there is no index that fits: the file has to be read in full.
    """
    try:
        file = open_regular(path)
    except OSError:
        return None
    stored = _load(folder, path, fstat(file.fileno())) if _has_index(folder, path) else None
    tail = None if stored is None else _tail(file, path, *stored, restore)
    if tail is None:
        file.close()
    return tail


def _tail(
    file: BinaryIO,
    path: Path,
    facts: EarlierFacts,
    ids: EntryIds,
    restore: Callable[[bytes], bytes],
) -> Tail | None:
    try:
        if _sample(file, facts.end) != facts.sampled:
            return None
        file.seek(0)
        header = read_header_line(file.readline())
        file.seek(facts.end)
        stored_lines = []
        for line in lines_of(file):
            if isinstance(line, LongLine):
                return None
            stored_lines.append(line)
    except OSError:
        return None
    if header is None or header.version is msgspec.UNSET or header.version < SESSION_VERSION:
        return None
    lines: list[bytes] = []
    outlines: list[Outline] = []
    restored = [restore(line) for line in stored_lines]
    for line in restored:
        for part, outline in split_entries(line):
            lines.append(part)
            outlines.append(outline)
    if not outlines or not _is_in_order(outlines, facts, ids):
        return None
    earlier = EarlierEntries(file, facts, ids, restore)
    return Tail(SessionFile(header, lines, outlines), earlier, stored_lines, restored)


def _is_in_order(outlines: Sequence[Outline], facts: EarlierFacts, ids: EntryIds) -> bool:
    """Whether no entry has a parent that comes later, and none has the id of an earlier one.

    Such entries change the branches of earlier ones.
    """
    last = {outline.id: position for position, outline in enumerate(outlines)}
    if not last.keys().isdisjoint(facts.missing_parents) or any(id in ids for id in last):
        return False
    return all(
        last.get(outline.parent_id or "", -1) < position
        for position, outline in enumerate(outlines)
    )


# The file -----------------------------------------------------------------------------------------


def _index_file(folder: Path, path: Path) -> Path:
    name = str(path).encode("utf-8", "surrogatepass")
    return folder / f"{path.stem[-60:]}-{zlib.crc32(name):08x}"


def _has_index(folder: Path, path: Path) -> bool:
    return _index_file(folder, path).exists()


def _load(folder: Path, path: Path, status: stat_result) -> tuple[EarlierFacts, EntryIds] | None:
    """Return a stored index that fits the state of the file."""
    with suppress(OSError, PiError, ValueError, *UNREADABLE):
        data = memoryview(_index_file(folder, path).read_bytes())
        if zlib.crc32(data[8:]) != int(bytes(data[:8]), 16):
            return None
        length = int(bytes(data[8:16]), 16)
        facts = msgspec.json.decode(data[16 : 16 + length], type=EarlierFacts)
        same_file = (facts.device, facts.inode) == (status.st_dev, status.st_ino)
        is_unchanged = facts.modified_ns == status.st_mtime_ns or status.st_size > facts.size
        if facts.format != FORMAT or not same_file or not is_unchanged:
            return None
        if status.st_size < facts.size:
            return None
        short, long = array("I"), array("Q")
        middle = 16 + length + facts.short_ids * short.itemsize
        short.frombytes(data[16 + length : middle])
        long.frombytes(data[middle:])
        if (len(short), len(long)) == (facts.short_ids, facts.long_ids):
            return facts, EntryIds(short, long)
    return None


def save_index(folder: Path, path: Path, facts: EarlierFacts, ids: EntryIds) -> bool:
    """Store an index; returns whether that was possible."""
    record = msgspec.json.encode(facts)
    body = b"%08x" % len(record) + record + ids.short.tobytes() + ids.long.tobytes()
    try:
        private_directory(folder)
        replace_file(_index_file(folder, path), b"%08x" % zlib.crc32(body) + body)
    except (PiError, OSError) as error:
        logger.debug("index of %s not saved: %s", path, error)
        return False
    return True


def remove_old(folder: Path, before: float) -> None:
    """Remove indexes that were written before a time: their sessions are no longer used."""
    with suppress(OSError):
        for file in folder.iterdir():
            with suppress(OSError):  # another process may remove it
                if file.stat().st_mtime < before:
                    file.unlink()


def sample(path: Path, end: int) -> int:
    """Return a checksum of parts of the first ``end`` bytes of a file."""
    with open_regular(path) as file:
        return _sample(file, end)


def _sample(file: BinaryIO, end: int) -> int:
    checksum = 0
    last = max(end - _SAMPLE_BYTES, 0)
    for number in range(_SAMPLES + 1):
        file.seek(last * number // _SAMPLES)
        checksum = zlib.crc32(file.read(min(_SAMPLE_BYTES, end)), checksum)
    return checksum

"""The files of a project in the store: packs of contents, and the index.

One file per content would take 0.9 ms each: 18 s for the first 20,000. A pack is an append-only
sequence of records: mark, hash, length, content. A record that was cut off by a kill is ignored,
and so is everything after it.

The index has the stamps and states of all paths. With it the next session reads changed files only.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import struct
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from pi.batteries.rewind.pauses import CODED, in_slices
from pi.batteries.rewind.states import FileState, Stamp, decode_state
from pi.extension import Record

_HEAD = struct.Struct("<4s32sQ")
_MARK = b"piR1"
SUFFIX = ".pack"
MAX_PACK_BYTES = 64 * 1024 * 1024
"""A session starts another pack when its own has grown to this size."""
BUFFER_BYTES = 4 * 1024 * 1024


class Packs:
    """The packs of a project; new contents go to packs of this run."""

    def __init__(self, folder: Path, run: str, reserve: Callable[[int], bool]) -> None:
        self._folder = folder
        self._run = run
        self._reserve = reserve
        """Reserves disk space; returns False if the store is full."""
        self._places: dict[bytes, tuple[str, int, int]] | None = None
        self._buffer = bytearray()
        self._pending: dict[bytes, bytes] = {}
        self._number = 1

    def add(self, hash: str, data: bytes) -> bool:
        """Store a content, unless it is stored. Returns False if the store is full."""
        key = bytes.fromhex(hash)
        if key in self._pending or key in self._locations():
            return True
        if not self._reserve(len(data) + _HEAD.size):
            return False
        self._pending[key] = data
        self._buffer += _HEAD.pack(_MARK, key, len(data))
        self._buffer += data
        if len(self._buffer) >= BUFFER_BYTES:
            self.flush()
        return True

    def flush(self) -> None:
        """Write the buffered contents to the pack of this run."""
        if not self._buffer:
            return
        path = self._own_pack()
        with open(path, "ab", buffering=0, opener=_private) as file:
            start = file.seek(0, os.SEEK_END)
            rest = memoryview(self._buffer)
            while rest:
                rest = rest[file.write(rest) :]
        for key, data in self._pending.items():
            start += _HEAD.size
            self._locations()[key] = (path.name, start, len(data))
            start += len(data)
        self._pending.clear()
        self._buffer = bytearray()

    def get(self, hash: str) -> bytes | None:
        """The content with that hash; ``None`` if it is missing or damaged."""
        key = bytes.fromhex(hash)
        if key in self._pending:
            return self._pending[key]
        if (location := self._locations().get(key)) is None:
            return None
        name, offset, length = location
        try:
            with (self._folder / name).open("rb") as file:
                file.seek(offset)
                data = file.read(length)
        except OSError:
            return None
        return data if hashlib.sha256(data).digest() == key else None

    def __contains__(self, hash: str) -> bool:
        key = bytes.fromhex(hash)
        return key in self._pending or key in self._locations()

    def forget(self) -> None:
        """Read the folder again at next use: packs were removed or rewritten."""
        self.flush()
        self._places = None

    def _locations(self) -> dict[bytes, tuple[str, int, int]]:
        if self._places is None:
            self._places = {}
            for path in pack_files(self._folder):
                self._places.update(
                    (key, (path.name, offset, length)) for key, offset, length in records(path)
                )
        return self._places

    def _own_pack(self) -> Path:
        while True:
            path = self._folder / f"{self._run}-{self._number}{SUFFIX}"
            try:
                if path.stat().st_size < MAX_PACK_BYTES:
                    return path
            except FileNotFoundError:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                return path
            self._number += 1


def pack_files(folder: Path) -> list[Path]:
    """The packs of a folder, sorted by name."""
    try:
        return sorted(path for path in folder.iterdir() if path.name.endswith(SUFFIX))
    except FileNotFoundError:
        return []


def records(path: Path) -> Iterator[tuple[bytes, int, int]]:
    """Yield hash, offset and length of every complete record of a pack."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < _HEAD.size:
                return
            with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as view:
                position = 0
                while position + _HEAD.size <= size:
                    mark, key, length = _HEAD.unpack_from(view, position)
                    position += _HEAD.size
                    if mark != _MARK or position + length > size:
                        return
                    yield key, position, length
                    position += length
    except FileNotFoundError:  # removed by another process
        return


def drop_unused(folder: Path, used: Collection[bytes]) -> int:
    """Remove packs without used contents; rewrite those that are mostly unused.

    Returns the bytes that were freed. The caller must be the only writer of the folder meanwhile.
    """
    freed, seen = 0, set[bytes]()
    for path in pack_files(folder):
        retained: dict[bytes, tuple[int, int]] = {}
        for key, offset, length in records(path):
            if key in used and key not in seen:
                retained[key] = (offset, length)
        size = path.stat().st_size
        live = sum(length + _HEAD.size for _, length in retained.values())
        seen |= retained.keys()
        if not retained:
            path.unlink()
        elif live * 2 < size:
            _rewrite(path, retained)
        else:
            continue
        freed += size - (live if retained else 0)
    return freed


def _rewrite(path: Path, retained: dict[bytes, tuple[int, int]]) -> None:
    temporary = path.with_name(f".pi-{os.urandom(8).hex()}.tmp")
    with path.open("rb") as source, open(temporary, "xb", opener=_private) as target:
        for key, (offset, length) in retained.items():
            source.seek(offset)
            target.write(_HEAD.pack(_MARK, key, length))
            target.write(source.read(length))
        target.flush()
        os.fsync(target.fileno())
    temporary.replace(path)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class Known(Record, gc=False):
    """The stamp and state of a path when it was last read.

    ``gc=False``: there is one per file, they are in no cycle, and a collection that visits
    20,000 of them stops all threads for 25-40 ms.
    """

    stamp: Stamp
    state: FileState


class Index(Record):
    """The content of an index."""

    session: str
    """The session that wrote it."""
    left_out: tuple[str, ...]
    """Folders beyond ``maxFiles``."""
    rule_texts: dict[str, str]
    """The contents of the ignore files, by path."""
    known: dict[str, Known]


def encode_index(index: Index) -> bytes:
    """The content of the file: a head, then a line for each path."""
    head = {"session": index.session, "leftOut": index.left_out, "ruleTexts": index.rule_texts}
    rows = (
        [path, known_file.stamp, known_file.state.encode()]
        for path, known_file in index.known.items()
    )
    # Line by line: encoding all of it in one call would block the event loop for 0.1 s.
    return "\n".join([json.dumps(head), *map(json.dumps, in_slices(rows, CODED)), ""]).encode()


def read_index(path: Path) -> Index | None:
    """Return the index; ``None`` if it is missing or invalid."""
    try:
        head, rows = _lines(path)
        known_files = {
            path: Known(stamp=_stamp(stamp), state=state)
            for path, stamp, encoded in rows
            if (state := decode_state(encoded)) is not None
        }
        left_out = tuple(map(str, head["leftOut"]))
        rule_texts = {str(path): str(text) for path, text in head.get("ruleTexts", {}).items()}
        return Index(
            session=str(head["session"]),
            left_out=left_out,
            rule_texts=rule_texts,
            known=known_files,
        )
    except (OSError, AttributeError, KeyError, TypeError, ValueError):
        return None


def index_hashes(path: Path) -> set[str]:
    """Hashes of the contents that an index refers to."""
    try:
        return {row[2][2] for row in _lines(path)[1] if row[2] and row[2][0] == "f"}
    except (OSError, ValueError, IndexError):
        return set()


def _lines(path: Path) -> tuple[dict[str, Any], Iterator[Any]]:
    """The head, and an iterator over the rows: a list of all would slow down garbage collection."""
    head, *lines = path.read_text("utf-8").splitlines()
    return json.loads(head), (json.loads(line) for line in in_slices(lines, CODED))


def _stamp(value: object) -> Stamp:
    size, modified, changed, mode, inode = map(int, value)  # type: ignore[call-overload]
    return (size, modified, changed, mode, inode)

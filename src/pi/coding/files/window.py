"""A window of lines of a file of any size, in bounded memory."""

from __future__ import annotations

import codecs
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from pi.base.files import open_regular
from pi.base.records import Record
from pi.coding.files.text import LOOKED_AT, form_of

CHUNK = 1024 * 1024
MOST_SCANNED = 1024 * 1024 * 1024
"""Bytes after which lines are no longer counted."""


class Window(Record):
    """Lines of a file; lines are what line feeds part, so the last one may be empty."""

    data: bytes
    """The beginning of the lines as UTF-8, with U+FFFD for what is no text."""
    size: int
    """Bytes of all the lines of the window, of which ``data`` may hold only the first."""
    lines: int
    """Of the window; an empty piece after a last line feed is none."""
    first_line_size: int
    total: int
    """Lines of the file."""
    exact: bool = True
    """False if the file is so large that ``total`` says only how many it has at least."""


def read_window(
    path: Path, *, skip: int, limit: int | None, keep: int, stop: threading.Event
) -> Window:
    """``limit`` lines after the first ``skip``, of which ``keep`` bytes are kept.

    Blocks; setting ``stop`` ends it soon with what it has. What is not a regular file is refused,
    because a pipe or a device may never end.
    """
    with open_regular(path) as file:
        scan = _Scan(skip, limit, keep)
        scanned = 0
        for chunk in _utf8_chunks(file):
            scan.take(chunk)
            scanned += len(chunk)
            if stop.is_set() or scanned > MOST_SCANNED:
                break
        else:
            return scan.window(exact=True)
    return scan.window(exact=False)


def read_lines(path: Path, wanted: Sequence[range], *, longest: int) -> dict[int, bytes]:
    """The lines with these numbers, the first line being 1, as far as there are such.

    The ranges ascend and do not overlap. Lines are UTF-8 without line feeds, and cut after
    ``longest`` bytes. Blocks.
    """
    found: dict[int, bytes] = {}
    with open_regular(path) as file:
        first, begun = 1, b""
        for chunk in _without_mark(_utf8_chunks(file)):
            lines = chunk.split(b"\n")  # at once: a loop over short lines would take for ever
            lines[0] = begun + lines[0][: longest - len(begun)]
            last = first + len(lines) - 1
            for numbers in wanted:
                for number in range(max(numbers.start, first), min(numbers.stop, last)):
                    found[number] = lines[number - first][:longest]
            first, begun = last, lines[-1][:longest]
    if any(first in numbers for numbers in wanted):
        found[first] = begun
    return found


def bounded_lines(path: Path, *, longest: int) -> Iterator[bytes]:
    """All lines as UTF-8, without line feeds; of a line longer than ``longest`` its beginning."""
    with open_regular(path) as file:
        begun = b""
        for chunk in _without_mark(_utf8_chunks(file)):
            first, *lines = chunk.split(b"\n")
            begun += first[: longest - len(begun)]
            for line in lines:
                yield begun
                begun = line[:longest]
        if begun:
            yield begun


def _without_mark(chunks: Iterator[bytes]) -> Iterator[bytes]:
    yield next(chunks, b"").removeprefix(codecs.BOM_UTF8)
    yield from chunks


def _utf8_chunks(file: BinaryIO) -> Iterator[bytes]:
    chunk = file.read(CHUNK)
    encoding = form_of(chunk[:LOOKED_AT]).encoding
    if encoding == "utf-8":
        while chunk:
            yield chunk
            chunk = file.read(CHUNK)
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    while chunk:
        yield decoder.decode(chunk).encode("utf-8", "replace")
        chunk = file.read(CHUNK)
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


class _Scan:
    """Where the window begins and ends, found chunk by chunk."""

    def __init__(self, skip: int, limit: int | None, keep: int) -> None:
        self._to_skip = skip
        self._limit = limit
        self._keep = keep
        self._data = bytearray()
        self._size = 0
        self._line_feeds = 0
        self._first_line_size: int | None = None
        self._ends_with_line_feed = True
        self._open = limit != 0
        self._total = 1

    def take(self, chunk: bytes) -> None:
        count = chunk.count(b"\n")
        self._total += count
        if self._to_skip > count:
            self._to_skip -= count
            return
        if self._to_skip:
            chunk = chunk.split(b"\n", self._to_skip)[-1]
            count -= self._to_skip
            self._to_skip = 0
        if self._open:
            self._choose(chunk, count)

    def _choose(self, chunk: bytes, count: int) -> None:
        if self._limit is not None and self._line_feeds + count >= self._limit:
            lines = self._limit - self._line_feeds
            chunk = b"\n".join(chunk.split(b"\n", lines)[:lines])
            count = lines - 1
            self._open = False
        if self._first_line_size is None and b"\n" in chunk:
            self._first_line_size = self._size + chunk.index(b"\n")
        if chunk:
            self._ends_with_line_feed = chunk.endswith(b"\n")
        self._size += len(chunk)
        self._line_feeds += count
        self._data += chunk[: self._keep - len(self._data)]

    def window(self, *, exact: bool) -> Window:
        first = self._size if self._first_line_size is None else self._first_line_size
        data = bytes(self._data).decode("utf-8", "replace").encode("utf-8")
        return Window(
            data=data,
            size=len(data) if self._size == len(self._data) else self._size,
            lines=self._line_feeds + (not self._ends_with_line_feed),
            first_line_size=first,
            total=self._total,
            exact=exact,
        )

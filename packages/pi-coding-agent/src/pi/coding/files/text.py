"""Text files: encoding, byte order mark, line ends, and windows of lines in bounded memory."""

from __future__ import annotations

import codecs
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Literal

from pi.base.errors import PiError
from pi.base.files import open_regular
from pi.base.records import Record

SAMPLE_BYTES = 4096
"""Bytes at the beginning of a file that determine its encoding."""

_MARKS: tuple[tuple[bytes, Literal["utf-8", "utf-16-le", "utf-16-be"]], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class NotText(PiError):
    """The bytes of a file are not text: writing it back would damage it."""


class TextForm(Record):
    """Encoding and line ends of a text file."""

    encoding: Literal["utf-8", "utf-16-le", "utf-16-be"] = "utf-8"
    mark: bytes = b""
    """The byte order mark at the beginning."""
    line_end: Literal["\n", "\r\n"] = "\n"
    """The line end of most lines."""

    def encode(self, text: str) -> bytes:
        """Encode ``text``; its line ends are kept."""
        return self.mark + text.encode(self.encoding)


def form_of(data: bytes) -> TextForm:
    """Detect the form from the first bytes and the line ends."""
    mark, encoding = next((row for row in _MARKS if data.startswith(row[0])), (b"", _MARKS[0][1]))
    if encoding != "utf-8" and 0 not in data[:SAMPLE_BYTES]:
        mark, encoding = b"", "utf-8"  # UTF-16 text has a zero byte in every space and line end
    carriage = "\r\n".encode(encoding)
    returns = data.count(carriage)
    lines = data.count("\n".encode(encoding))
    return TextForm(
        encoding=encoding, mark=mark, line_end="\r\n" if returns > lines - returns else "\n"
    )


def display_text(data: bytes) -> str:
    """Return the text without its mark; invalid bytes become U+FFFD."""
    form = form_of(data)
    return data[len(form.mark) :].decode(form.encoding, "replace")


def decode(data: bytes) -> tuple[str, TextForm]:
    """Return the text without its mark, and its form. Raises ``NotText`` for invalid bytes."""
    form = form_of(data)
    try:
        return data[len(form.mark) :].decode(form.encoding), form
    except UnicodeDecodeError as error:
        raise NotText(
            f"It is not valid {form.encoding.upper()}: byte 0x{data[error.start]:02x} "
            f"at offset {error.start + len(form.mark)}."
        ) from error


CHUNK_BYTES = 1024 * 1024
MAX_SCANNED_BYTES = 1024 * 1024 * 1024
"""Size after which lines are no longer counted."""


class Window(Record):
    """Lines of a file, separated by line feeds; the last one may be empty."""

    data: bytes
    """The beginning of the lines as UTF-8, with U+FFFD for invalid bytes."""
    size: int
    """Bytes of all lines of the window; ``data`` may hold only the first of them."""
    lines: int
    """Lines of the window; an empty piece after the last line feed does not count."""
    first_line_size: int
    total: int
    """Lines of the file."""
    exact: bool = True
    """False if the file is so large that ``total`` is a lower bound."""


def window_of(
    file: BinaryIO, *, skip: int, limit: int | None, keep: int, stop: threading.Event
) -> Window:
    """Return ``limit`` lines after the first ``skip``, with the first ``keep`` bytes of them.

    Blocks; setting ``stop`` ends it with a partial result.
    """
    scan = _Scan(skip, limit, keep)
    scanned = 0
    for chunk in _utf8_chunks(file):
        scan.feed(chunk)
        scanned += len(chunk)
        if stop.is_set() or scanned > MAX_SCANNED_BYTES:
            return scan.window(exact=False)
    return scan.window(exact=True)


def read_lines(path: Path, ranges: Sequence[range], *, longest: int) -> dict[int, bytes]:
    """Return the existing lines with these numbers, counted from 1.

    The ranges ascend and do not overlap. Lines are UTF-8 without line feeds, truncated to
    ``longest`` bytes. Blocks.
    """
    lines_by_number: dict[int, bytes] = {}
    with open_regular(path) as file:
        first, begun = 1, b""
        for chunk in _without_mark(_utf8_chunks(file)):
            lines = chunk.split(b"\n")  # not line by line: that is slow for short lines
            lines[0] = begun + lines[0][: longest - len(begun)]
            last = first + len(lines) - 1
            for numbers in ranges:
                for number in range(max(numbers.start, first), min(numbers.stop, last)):
                    lines_by_number[number] = lines[number - first][:longest]
            first, begun = last, lines[-1][:longest]
    if any(first in numbers for numbers in ranges):
        lines_by_number[first] = begun
    return lines_by_number


def bounded_lines(path: Path, *, longest: int) -> Iterator[bytes]:
    """Yield all lines as UTF-8 without line feeds, truncated to ``longest`` bytes."""
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
    chunk = file.read(CHUNK_BYTES)
    encoding = form_of(chunk[:SAMPLE_BYTES]).encoding
    if encoding == "utf-8":
        while chunk:
            yield chunk
            chunk = file.read(CHUNK_BYTES)
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    while chunk:
        yield decoder.decode(chunk).encode("utf-8", "replace")
        chunk = file.read(CHUNK_BYTES)
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


class _Scan:
    """Finds the beginning and end of a window, chunk by chunk."""

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

    def feed(self, chunk: bytes) -> None:
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

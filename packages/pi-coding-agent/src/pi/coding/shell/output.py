"""Output of a command: decoding, truncation for the model, and a buffer of bounded size."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from pi.ai.messages import Json
from pi.base.records import Record, replace
from pi.coding.blobs.artifacts import Artifact
from pi.coding.shell.spill import Spill, size_text

if TYPE_CHECKING:
    from pi.base.terminal_text import StreamSanitiser


class OutputDecoder:
    """Decodes UTF-8 incrementally; invalid bytes become U+FFFD.

    With ``fallback``, the code page of the system, everything from the first invalid byte on is
    decoded with that code page: the program does not write UTF-8.
    """

    def __init__(self, fallback: str | None = None) -> None:
        self._fallback = fallback
        errors = "strict" if fallback else "replace"
        self._decoder: codecs.IncrementalDecoder = codecs.getincrementaldecoder("utf-8")(errors)

    def feed(self, data: bytes, *, final: bool = False) -> str:
        """Return the decoded text, up to the last complete character."""
        held = self._decoder.getstate()[0]
        try:
            return self._decoder.decode(data, final)
        except UnicodeDecodeError as error:
            assert self._fallback is not None  # otherwise errors are replaced
            self._decoder = codecs.getincrementaldecoder(self._fallback)("replace")
            buffered = held + data
            decoded = buffered[: error.start].decode("utf-8", "replace")
            return decoded + self._decoder.decode(buffered[error.start :], final)


MAX_LINES = 2000
MAX_BYTES = 50 * 1024


class Size(NamedTuple):
    """An amount of text."""

    lines: int = MAX_LINES
    bytes: int = MAX_BYTES


MAX_SIZE = Size()
"""Limit of one tool result."""


class Truncation(Record):
    """A truncated text and its original size. Sizes are bytes of UTF-8."""

    content: str
    truncated: bool
    truncated_by: Literal["lines", "bytes"] | None
    total_lines: int
    total_bytes: int
    output_lines: int
    output_bytes: int
    last_line_partial: bool = False
    """Only the end of one overlong line is shown."""
    first_line_exceeds_limit: bool = False
    """Nothing is shown, because the first line does not fit."""
    max_lines: int = MAX_LINES
    max_bytes: int = MAX_BYTES

    def as_json(self) -> Json:
        """Return the form for result details."""
        form: Json = msgspec.to_builtins(self)
        return form


def keep_head(data: bytes, *, total: Size | None = None, most: Size = MAX_SIZE) -> Truncation:
    """Return the first lines that fit. ``data`` may be the start of a text of size ``total``."""
    body = data.removesuffix(b"\n")
    total = total or Size(count_lines(data), len(data))
    if total.bytes == len(data) and len(body) <= most.bytes and total.lines <= most.lines:
        return _keep_all(data, total, most)
    head = body[: most.bytes]
    if body[most.bytes : most.bytes + 1] not in (b"", b"\n"):
        head = head[: max(head.rfind(b"\n"), 0)]
    too_long = not head and not body.startswith(b"\n")
    lines = head.split(b"\n", most.lines)[: most.lines]
    return replace(_cut([] if too_long else lines, total, most), first_line_exceeds_limit=too_long)


def keep_tail(data: bytes, *, total: Size | None = None, most: Size = MAX_SIZE) -> Truncation:
    """Return the last lines that fit. ``data`` may be the end of a text of size ``total``."""
    body = data.removesuffix(b"\n")
    total = total or Size(count_lines(data), len(data))
    if total.bytes == len(data) and len(body) <= most.bytes and total.lines <= most.lines:
        return _keep_all(data, total, most)
    tail = body[-most.bytes :]
    partial = False
    if len(body) > most.bytes and body[-most.bytes - 1] != 0x0A:
        newline = tail.find(b"\n")
        partial = newline < 0
        tail = _from_character(tail) if partial else tail[newline + 1 :]
    lines = tail.rsplit(b"\n", most.lines)[-most.lines :]
    return replace(_cut(lines, total, most), last_line_partial=partial)


def count_lines(data: bytes) -> int:
    """Return the number of lines; a line feed at the end does not begin another line."""
    return data.count(b"\n") + (not data.endswith(b"\n")) if data else 0


def _keep_all(data: bytes, total: Size, most: Size) -> Truncation:
    return Truncation(
        content=data.decode("utf-8", "replace"),
        truncated=False,
        truncated_by=None,
        total_lines=total.lines,
        total_bytes=total.bytes,
        output_lines=total.lines,
        output_bytes=total.bytes,
        max_lines=most.lines,
        max_bytes=most.bytes,
    )


def _cut(lines: list[bytes], total: Size, most: Size) -> Truncation:
    content = b"\n".join(lines)
    return Truncation(
        content=content.decode("utf-8", "replace"),
        truncated=True,
        truncated_by="lines" if len(lines) >= most.lines else "bytes",
        total_lines=total.lines,
        total_bytes=total.bytes,
        output_lines=len(lines),
        output_bytes=len(content),
        max_lines=most.lines,
        max_bytes=most.bytes,
    )


def _from_character(data: bytes) -> bytes:
    """Return ``data`` without a partial character at its beginning."""
    start = 0
    while start < min(len(data), 4) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]


KEPT_BYTES = 2 * MAX_BYTES
"""Size of the end that is kept; more than is shown, so that truncation falls between lines."""
MAX_HELD_BYTES = 4 * MAX_BYTES


class Written(Record):
    """The end of an output, and the file with all of it if it was truncated."""

    tail: Truncation
    last_line_bytes: int
    """Size of the whole last line."""
    full_output_path: str | None = None
    kept_bytes: int | None = None
    """Size of the file, if it has only the beginning of the output."""
    artifact: Artifact | None = None

    @property
    def file_label(self) -> str:
        """Label of the file in a notice."""
        if self.kept_bytes is None:
            return "Full output"
        return f"First {size_text(self.kept_bytes)}, the rest was not kept"


class Output:
    """Collects output and keeps the last lines.

    As soon as the output exceeds the limits, ``open_spill`` is called for a file that gets all of
    it, as plain text, because models read it. ``harmless`` removes terminal control sequences.
    ``shows_style`` keeps SGR styles in what ``add`` and ``finish`` return, for a screen; the
    collected text has none.
    """

    def __init__(
        self,
        open_spill: Callable[[], Spill | None],
        *,
        fallback: str | None = None,
        harmless: bool = False,
        shows_style: bool = False,
    ) -> None:
        self._open_spill = open_spill
        self._decoder = OutputDecoder(fallback)
        self._sanitiser = _sanitiser() if harmless else None
        self._styled = _sanitiser(keeps_style=True) if harmless and shows_style else None
        self._held = bytearray()
        self._spill: Spill | None = None
        self._spill_sanitiser: StreamSanitiser | None = None
        self._cut = False
        self._lines = 0
        self._bytes = 0
        self._line = 0
        self._line_before = 0

    def add(self, data: bytes) -> str:
        """Add bytes. Returns them as text, without an incomplete character at the end."""
        text = self._decoder.feed(data)
        plain = self._keep_text(self._sanitiser.feed(text) if self._sanitiser else text)
        return plain if self._styled is None else self._styled.feed(text)

    def finish(self) -> str:
        """End the output. Returns text that was held back, and closes the file."""
        text = self._decoder.feed(b"", final=True)
        rest = text
        if self._sanitiser is not None:
            rest = self._sanitiser.feed(text) + self._sanitiser.finish()
        self._keep_text(rest)
        if self._spill is not None and self._spill_sanitiser is not None:
            self._spill.write(self._spill_sanitiser.finish().encode())
            self._spill.close()
        return rest if self._styled is None else self._styled.feed(text) + self._styled.finish()

    def written(self) -> Written:
        """Return the current end of the output."""
        spill = self._spill
        unfinished = self._line > 0
        total = Size(self._lines + unfinished, self._bytes)
        tail = keep_tail(bytes(self._held), total=total)
        return Written(
            tail=tail,
            last_line_bytes=self._line if unfinished else self._line_before,
            full_output_path=str(spill.path) if spill and spill.path else None,
            kept_bytes=spill.limit if spill else None,
            artifact=spill.artifact if spill else None,
        )

    def _keep_text(self, text: str) -> str:
        if text:
            self._keep(text.encode("utf-8", "replace"))
        return text

    def _keep(self, data: bytes) -> None:
        self._count_lines(data)
        self._held += data
        if self._spill is not None:
            self._write_spill(data)
        elif not self._cut and self._exceeds_limit():
            self._cut = True
            self._spill = self._open_spill()
            if self._spill is not None:
                self._spill_sanitiser = _sanitiser()
                self._write_spill(bytes(self._held))
        if len(self._held) > MAX_HELD_BYTES:
            del self._held[:-KEPT_BYTES]

    def _write_spill(self, data: bytes) -> None:
        assert self._spill is not None
        assert self._spill_sanitiser is not None
        self._spill.write(self._spill_sanitiser.feed(data.decode()).encode())

    def _exceeds_limit(self) -> bool:
        return self._bytes > MAX_BYTES or self._lines + (self._line > 0) > MAX_LINES

    def _count_lines(self, data: bytes) -> None:
        self._bytes += len(data)
        self._lines += data.count(b"\n")
        last = data.rfind(b"\n")
        if last < 0:
            self._line += len(data)
            return
        before = data.rfind(b"\n", 0, last)
        self._line_before = last - before - 1 if before >= 0 else self._line + last
        self._line = len(data) - last - 1


def _sanitiser(*, keeps_style: bool = False) -> StreamSanitiser:
    # Lazy: its patterns take 5 ms to compile, and output for models needs none of them.
    from pi.base.terminal_text import StreamSanitiser

    return StreamSanitiser(keeps_style=keeps_style)

"""What a command has written so far, in bounded memory."""

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


# Bytes of a command as text, although characters arrive cut in two and encodings are mixed.


class OutputDecoder:
    """Decodes UTF-8 as it comes; what is none becomes U+FFFD.

    With ``fallback``, the code page of the system, the first byte that is not UTF-8 says that the
    program does not know UTF-8, and everything from there on is decoded with that code page.
    """

    def __init__(self, fallback: str | None = None) -> None:
        self._fallback = fallback
        errors = "strict" if fallback else "replace"
        self._decoder: codecs.IncrementalDecoder = codecs.getincrementaldecoder("utf-8")(errors)

    def feed(self, data: bytes, *, final: bool = False) -> str:
        """The text that is complete by now."""
        held = self._decoder.getstate()[0]
        try:
            return self._decoder.decode(data, final)
        except UnicodeDecodeError as problem:
            assert self._fallback is not None  # without one nothing is an error
            self._decoder = codecs.getincrementaldecoder(self._fallback)("replace")
            whole = held + data
            good = whole[: problem.start].decode("utf-8", "replace")
            return good + self._decoder.decode(whole[problem.start :], final)


# Long texts cut to what a model should read: whole lines of the beginning, or of the end. Pure.


MOST_LINES = 2000
MOST_BYTES = 50 * 1024


class Size(NamedTuple):
    """How much text."""

    lines: int = MOST_LINES
    bytes: int = MOST_BYTES


MOST = Size()
"""What a model should read at once."""


class Truncation(Record):
    """A text as it is shown, and how much there was of it. Sizes are bytes of UTF-8."""

    content: str
    truncated: bool
    truncated_by: Literal["lines", "bytes"] | None
    total_lines: int
    total_bytes: int
    output_lines: int
    output_bytes: int
    last_line_partial: bool = False
    """Only the end of one line that is too long by itself is shown."""
    first_line_exceeds_limit: bool = False
    """Nothing is shown, because not even the first line fits."""
    max_lines: int = MOST_LINES
    max_bytes: int = MOST_BYTES

    def as_json(self) -> Json:
        """The form in which a result's details hold it."""
        form: Json = msgspec.to_builtins(self)
        return form


def keep_head(data: bytes, *, total: Size | None = None, most: Size = MOST) -> Truncation:
    """The first lines that fit; ``data`` may lack the end of a text that has ``total``."""
    body = data.removesuffix(b"\n")
    total = total or Size(count_lines(data), len(data))
    if total.bytes == len(data) and len(body) <= most.bytes and total.lines <= most.lines:
        return _whole(data, total, most)
    kept = body[: most.bytes]
    if body[most.bytes : most.bytes + 1] not in (b"", b"\n"):
        kept = kept[: max(kept.rfind(b"\n"), 0)]
    too_long = not kept and not body.startswith(b"\n")
    lines = kept.split(b"\n", most.lines)[: most.lines]
    return replace(_cut([] if too_long else lines, total, most), first_line_exceeds_limit=too_long)


def keep_tail(data: bytes, *, total: Size | None = None, most: Size = MOST) -> Truncation:
    """The last lines that fit; ``data`` may lack the beginning of a text that has ``total``."""
    body = data.removesuffix(b"\n")
    total = total or Size(count_lines(data), len(data))
    if total.bytes == len(data) and len(body) <= most.bytes and total.lines <= most.lines:
        return _whole(data, total, most)
    kept = body[-most.bytes :]
    partial = False
    if len(body) > most.bytes and body[-most.bytes - 1] != 0x0A:
        newline = kept.find(b"\n")
        partial = newline < 0
        kept = _from_character(kept) if partial else kept[newline + 1 :]
    lines = kept.rsplit(b"\n", most.lines)[-most.lines :]
    return replace(_cut(lines, total, most), last_line_partial=partial)


def count_lines(data: bytes) -> int:
    """How many lines a text has; a line end at its very end begins no further line."""
    return data.count(b"\n") + (not data.endswith(b"\n")) if data else 0


def _whole(data: bytes, total: Size, most: Size) -> Truncation:
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
    """``data`` without the rest of a character that was cut in two."""
    start = 0
    while start < min(len(data), 4) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]


KEPT = 2 * MOST_BYTES
"""Bytes of the end that are held; more than are ever shown, so that cuts fall between lines."""
MOST_HELD = 4 * MOST_BYTES


class Written(Record):
    """The end of an output, and where the whole of it is if that is all there is room for."""

    tail: Truncation
    last_line_bytes: int
    """Size of the last line, also of what is not shown of it."""
    full_output_path: str | None = None
    kept_bytes: int | None = None
    """How much of its beginning that file has, if it has not all of it."""
    artifact: Artifact | None = None

    @property
    def file_label(self) -> str:
        """What that file contains, for a notice that names it."""
        if self.kept_bytes is None:
            return "Full output"
        return f"First {size_text(self.kept_bytes)}, the rest was not kept"


class Output:
    """Takes bytes as they come and knows the last lines of them.

    As soon as something would be lost, everything goes to a file: ``open_spill`` is asked for it.
    A ``harmless`` output is without everything that commands a terminal.
    """

    def __init__(
        self,
        open_spill: Callable[[], Spill | None],
        *,
        fallback: str | None = None,
        harmless: bool = False,
    ) -> None:
        self._open_spill = open_spill
        self._decoder = OutputDecoder(fallback)
        self._sanitiser = _sanitiser() if harmless else None
        self._held = bytearray()
        self._spill: Spill | None = None
        self._cut = False
        self._lines = 0
        self._bytes = 0
        self._line = 0
        self._line_before = 0

    def add(self, data: bytes) -> str:
        """Take what came; gives it as text, without a character that is not complete yet."""
        text = self._decoder.feed(data)
        return self._kept(self._sanitiser.feed(text) if self._sanitiser else text)

    def finish(self) -> str:
        """Nothing more comes: gives what was held back, and the files are complete."""
        rest = self._decoder.feed(b"", final=True)
        if self._sanitiser is not None:
            rest = self._sanitiser.feed(rest) + self._sanitiser.finish()
        self._kept(rest)
        if self._spill is not None:
            self._spill.close()
        return rest

    def written(self) -> Written:
        """The end as it is now."""
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

    def _kept(self, text: str) -> str:
        if text:
            self._keep(text.encode("utf-8", "replace"))
        return text

    def _keep(self, data: bytes) -> None:
        self._count(data)
        self._held += data
        if self._spill is not None:
            self._spill.write(data)
        elif not self._cut and self._would_lose():
            self._cut = True
            self._spill = self._open_spill()
            if self._spill is not None:
                self._spill.write(bytes(self._held))
        if len(self._held) > MOST_HELD:
            del self._held[:-KEPT]

    def _would_lose(self) -> bool:
        return self._bytes > MOST_BYTES or self._lines + (self._line > 0) > MOST_LINES

    def _count(self, data: bytes) -> None:
        self._bytes += len(data)
        self._lines += data.count(b"\n")
        last = data.rfind(b"\n")
        if last < 0:
            self._line += len(data)
            return
        before = data.rfind(b"\n", 0, last)
        self._line_before = last - before - 1 if before >= 0 else self._line + last
        self._line = len(data) - last - 1


def _sanitiser() -> StreamSanitiser:
    # Its patterns take 5 ms to compile, and what models are shown needs none of them.
    from pi.base.terminal_text import StreamSanitiser

    return StreamSanitiser()

"""Long texts cut to what a model should read: whole lines of the beginning, or of the end. Pure."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from pi.ai.messages import Json
from pi.base.records import Record, replace

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


def size_text(size: int) -> str:
    """A number of bytes for people: ``512B``, ``50.0KB``, ``1.5MB``."""
    if size < 1024:
        return f"{size}B"
    if size < 1024 * 1024:
        return f"{size / 1024:.1f}KB"
    return f"{size / (1024 * 1024):.1f}MB"


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

"""Long texts cut to what a model should read: whole lines of the beginning, or of the end. Pure."""

from __future__ import annotations

from typing import Literal

import msgspec

from pi.ai.messages import Json
from pi.base.records import Record

MOST_LINES = 2000
MOST_BYTES = 50 * 1024


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


def keep_head(
    data: bytes,
    *,
    total_lines: int | None = None,
    total_bytes: int | None = None,
    max_lines: int = MOST_LINES,
    max_bytes: int = MOST_BYTES,
) -> Truncation:
    """The first lines that fit. ``data`` may lack the end of a text whose totals are given."""
    body = data.removesuffix(b"\n")
    total_lines = count_lines(data) if total_lines is None else total_lines
    total_bytes = len(data) if total_bytes is None else total_bytes
    if _fits(body, data, total_lines, total_bytes, max_lines, max_bytes):
        return _whole(data, total_lines, max_lines, max_bytes)
    kept = body[:max_bytes]
    if body[max_bytes : max_bytes + 1] not in (b"", b"\n"):
        kept = kept[: max(kept.rfind(b"\n"), 0)]
    too_long = not kept and not body.startswith(b"\n")
    lines = kept.split(b"\n", max_lines)[:max_lines]
    return _cut(
        [] if too_long else lines,
        totals=(total_lines, total_bytes),
        limits=(max_lines, max_bytes),
        first_line_exceeds_limit=too_long,
    )


def keep_tail(
    data: bytes,
    *,
    total_lines: int | None = None,
    total_bytes: int | None = None,
    max_lines: int = MOST_LINES,
    max_bytes: int = MOST_BYTES,
) -> Truncation:
    """The last lines that fit. ``data`` may lack the beginning of a text whose totals are given."""
    body = data.removesuffix(b"\n")
    total_lines = count_lines(data) if total_lines is None else total_lines
    total_bytes = len(data) if total_bytes is None else total_bytes
    if _fits(body, data, total_lines, total_bytes, max_lines, max_bytes):
        return _whole(data, total_lines, max_lines, max_bytes)
    kept = body[-max_bytes:]
    partial = False
    if len(body) > max_bytes and body[-max_bytes - 1] != 0x0A:
        newline = kept.find(b"\n")
        partial = newline < 0
        kept = _from_character(kept) if partial else kept[newline + 1 :]
    lines = kept.rsplit(b"\n", max_lines)
    return _cut(
        lines[-max_lines:],
        totals=(total_lines, total_bytes),
        limits=(max_lines, max_bytes),
        last_line_partial=partial,
    )


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


def _fits(body: bytes, data: bytes, lines: int, size: int, max_lines: int, max_bytes: int) -> bool:
    return size == len(data) and len(body) <= max_bytes and lines <= max_lines


def _whole(data: bytes, lines: int, max_lines: int, max_bytes: int) -> Truncation:
    return Truncation(
        content=data.decode("utf-8", "replace"),
        truncated=False,
        truncated_by=None,
        total_lines=lines,
        total_bytes=len(data),
        output_lines=lines,
        output_bytes=len(data),
        max_lines=max_lines,
        max_bytes=max_bytes,
    )


def _cut(
    lines: list[bytes],
    *,
    totals: tuple[int, int],
    limits: tuple[int, int],
    last_line_partial: bool = False,
    first_line_exceeds_limit: bool = False,
) -> Truncation:
    content = b"\n".join(lines)
    return Truncation(
        content=content.decode("utf-8", "replace"),
        truncated=True,
        truncated_by="lines" if len(lines) >= limits[0] else "bytes",
        total_lines=totals[0],
        total_bytes=totals[1],
        output_lines=len(lines),
        output_bytes=len(content),
        last_line_partial=last_line_partial,
        first_line_exceeds_limit=first_line_exceeds_limit,
        max_lines=limits[0],
        max_bytes=limits[1],
    )


def _from_character(data: bytes) -> bytes:
    """``data`` without the rest of a character that was cut in two."""
    start = 0
    while start < min(len(data), 4) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]

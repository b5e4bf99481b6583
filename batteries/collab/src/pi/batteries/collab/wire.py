"""The JSON inside frames: encoding, strict decoding, names and entries. Pure."""

from __future__ import annotations

import unicodedata
from typing import Any, Final

import msgspec

from pi.extension import Json, one_line

CHUNK: Final = 524_288
MAX_PLAIN: Final = 720_000
"""Larger broadcasts are deferred: guests fetch them in chunks."""
MAX_ENTRY: Final = 16 * 1024 * 1024
MAX_DEPTH: Final = 100
MAX_SNAPSHOT: Final = 512 * 1024 * 1024
"""Maximum bytes of a snapshot that a guest accepts."""
NAME_LENGTH: Final = 32
ID_LENGTH: Final = 64

GUEST_WRITES: Final = frozenset({"prompt", "abort", "agent-cmd", "fetch-transcript", "ui-response"})
"""Frames that need the write right."""
GUEST_READS: Final = frozenset({"hello", "fetch-chunk", "bye"})


class BadContent(ValueError):
    """A plaintext that is not a frame of the protocol."""


def encode(frame: Json) -> bytes:
    """The plaintext of a frame."""
    return msgspec.json.encode(frame)


def decode(plaintext: bytes) -> tuple[Json, bytes]:
    """The JSON object of a plaintext, and the raw bytes after it; raises ``BadContent``."""
    line, _, rest = plaintext.partition(b"\n")
    try:
        frame = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BadContent("not JSON") from error
    if not isinstance(frame, dict) or not isinstance(frame.get("t"), str):
        raise BadContent("not a frame")
    return frame, rest


def text_field(frame: Json, name: str, limit: int, default: str | None = None) -> str:
    """A text of a frame; raises ``BadContent`` if it is missing, too long or something else."""
    value = frame.get(name, default)
    if not isinstance(value, str) or len(value) > limit:
        raise BadContent(f"{name} is invalid")
    return value


def int_field(frame: Json, name: str, highest: int = 2**53) -> int:
    """A non-negative number of a frame; raises ``BadContent`` for other values."""
    value = frame.get(name)
    if type(value) is not int or not 0 <= value <= highest:
        raise BadContent(f"{name} is invalid")
    return value


def clean_name(text: object) -> str:
    """A display name: one line, without characters that hide or reorder others."""
    if not isinstance(text, str):
        return "guest"
    name = one_line(unicodedata.normalize("NFKC", text[:1000]))
    visible = "".join(
        character for character in name if unicodedata.category(character) not in _HIDDEN
    )
    return " ".join(visible.split())[:NAME_LENGTH].strip() or "guest"


_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Mn", "Me"}


def depth_exceeds(value: Any, limit: int) -> bool:
    """Whether JSON is nested deeper than ``limit``; never recurses."""
    level, depth = [value] if isinstance(value, dict | list | tuple) else [], 0
    while level:
        depth += 1
        if depth > limit:
            return True
        level = [
            member
            for container in level
            for member in (container.values() if isinstance(container, dict) else container)
            if isinstance(member, dict | list | tuple)
        ]
    return False


def entry_line(entry: Json) -> bytes:
    """An entry as a line of the snapshot; a placeholder if it is too large or too deep."""
    too_deep = depth_exceeds(entry, MAX_DEPTH)
    line = b"" if too_deep else json_line(entry)
    if too_deep or len(line) > MAX_ENTRY:
        line = json_line(omitted(entry, "nesting" if too_deep else f"{len(line)} bytes"))
    return line


def omitted(entry: Json, why: str) -> Json:
    """The placeholder that guests get instead of an entry."""
    fields = {name: entry.get(name) for name in ("id", "parentId", "timestamp")}
    data = {"type": str(entry.get("type")), "reason": why}
    return {"type": "custom", **fields, "customType": "collab-omitted", "data": data}


def json_line(value: Json) -> bytes:
    """A line in the format of session files."""
    return msgspec.json.encode(value)

"""Sealed shares: which entries are in one, how it is shortened, and its encryption. Pure.

The format is described in docs/reference/collab-protocol.md, section "Sealed shares".
"""

from __future__ import annotations

import base64
import gzip
import json
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from pi.extension import Json, PiError, Record

MAX_SEALED: Final = 1_048_576
_VERSION = b"\x01"
_ASSOCIATED = b"pi-share-1"
_OVERHEAD = 1 + 12 + 16
_LONG_STRINGS: Final = (50_000, 10_000, 2_000)
_KEPT_KEYS: Final = frozenset({"id", "parentId", "type", "role", "toolCallId"})
"""What links entries to each other; never shortened."""


class TooLarge(PiError):
    """The session does not fit even without everything that can be left out."""


class Content(Record):
    """What is shared, and what had to be left out."""

    data: bytes
    """JSON lines, compressed."""
    entries: int
    images: int = 0
    """Pictures that are in it."""
    dropped_images: int = 0
    shortened: int = 0
    """Longest length of texts, if some were shortened."""
    dropped_entries: int = 0


def branch(entries: Sequence[Json], leaf_id: str | None) -> list[Json]:
    """The entries from the root to the leaf: other branches are not shared."""
    by_id = {entry.get("id"): entry for entry in entries}
    found: list[Json] = []
    current = leaf_id
    while current in by_id:
        entry = by_id.pop(current)  # a loop ends
        found.append(entry)
        current = entry.get("parentId")
    return found[::-1]


def fit(header: Json, entries: Sequence[Json], limit: int = MAX_SEALED) -> Content:
    """Compress a session; leave out pictures, then long texts, then the oldest entries."""
    all_images = _count_images(entries)
    data = _packed(header, entries)
    if _fits(data, limit):
        return Content(data=data, entries=len(entries), images=all_images)
    kept: list[Any] = [_without_images(entry) for entry in entries]
    data, shortened = _packed(header, kept), 0
    for length in _LONG_STRINGS:
        if _fits(data, limit):
            break
        shortened = length
        kept = [_shortened(entry, length) for entry in kept]
        data = _packed(header, kept)
    if _fits(data, limit):
        return Content(data=data, entries=len(kept), dropped_images=all_images, shortened=shortened)
    low, high = 1, len(kept)  # the least number of old entries to drop
    while low < high:
        middle = (low + high) // 2
        if _fits(_packed(header, _newest(kept, middle)), limit):
            high = middle
        else:
            low = middle + 1
    data = _packed(header, _newest(kept, low))
    if low >= len(kept) or not _fits(data, limit):
        raise TooLarge("The session is too large to share.", hint="Use /export and share the file.")
    return Content(
        data=data,
        entries=len(kept) - low,
        dropped_images=all_images,
        shortened=shortened,
        dropped_entries=low,
    )


def seal(data: bytes, random: Callable[[int], bytes] = os.urandom) -> tuple[bytes, str]:
    """Encrypt with a new key; returns the blob and the key as text for the link."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # lazy: the extra ``share``

    key, iv = random(32), random(12)
    sealed = _VERSION + iv + AESGCM(key).encrypt(iv, data, _ASSOCIATED)
    return sealed, base64.urlsafe_b64encode(key).decode().rstrip("=")


def _fits(data: bytes, limit: int) -> bool:
    return len(data) + _OVERHEAD <= limit


def _packed(header: Json, entries: Iterable[Json]) -> bytes:
    rows = [header, *entries]
    lines = "\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    return gzip.compress(lines.encode("utf-8", "surrogatepass"), compresslevel=6, mtime=0)


def _newest(entries: Sequence[Json], dropped: int) -> list[Json]:
    kept = list(entries[dropped:])
    if kept:
        kept[0] = {**kept[0], "parentId": None}
    return kept


def _is_image(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") == "image" and "data" in value


def _count_images(value: Any) -> int:
    if _is_image(value):
        return 1
    if isinstance(value, dict):
        return sum(map(_count_images, value.values()))
    return sum(map(_count_images, value)) if isinstance(value, list | tuple) else 0


def _without_images(value: Any) -> Any:
    if _is_image(value):
        return {"type": "text", "text": "[a picture was left out of this share]"}
    if isinstance(value, dict):
        return {name: _without_images(each) for name, each in value.items()}
    return [*map(_without_images, value)] if isinstance(value, list | tuple) else value


def _shortened(value: Any, length: int, key: str = "") -> Any:
    if isinstance(value, str):
        if len(value) <= length or key in _KEPT_KEYS:
            return value
        half = length // 2
        left_out = len(value) - 2 * half
        notice = f"[{left_out:,} characters were left out of this share]"
        return f"{value[:half]}\n{notice}\n{value[-half:]}"
    if isinstance(value, dict):
        return {name: _shortened(each, length, name) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened(each, length) for each in value]
    return value

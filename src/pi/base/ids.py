"""Identifiers: session ids that sort by time, and short ids for entries of one file."""

from __future__ import annotations

from collections.abc import Callable, Container

RandomBytes = Callable[[int], bytes]
"""Returns that many unpredictable bytes; ``os.urandom`` outside of tests."""


def uuid7(now_ms: int, random_bytes: RandomBytes) -> str:
    """Returns a UUID version 7 (RFC 9562): it starts with the time, so that ids sort by age."""
    noise = int.from_bytes(random_bytes(10), "big")
    value = (now_ms & 0xFFFF_FFFF_FFFF) << 80
    value |= 0x7 << 76 | (noise >> 62 & 0xFFF) << 64
    value |= 0b10 << 62 | noise & 0x3FFF_FFFF_FFFF_FFFF
    digits = f"{value:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def short_id(taken: Container[str], random_bytes: RandomBytes) -> str:
    """Returns eight hex digits that are not in ``taken``; a long random id if that keeps
    failing."""
    for _ in range(100):
        candidate = random_bytes(4).hex()
        if candidate not in taken:
            return candidate
    return uuid7(0, random_bytes)

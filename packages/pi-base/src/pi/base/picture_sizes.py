"""Sizes and media types of pictures from their headers, without importing Pillow. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    pass


_SOI = b"\xff\xd8"

_NO_LENGTH = (0x01, *range(0xD0, 0xDA))
"""JPEG markers without a length."""

_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG frame markers, which contain the size. The other markers in that range are tables."""


class PixelSize(NamedTuple):
    """Width and height in pixels."""

    width: int
    height: int


def picture_size(data: bytes) -> PixelSize | None:
    """Return the size of a PNG, JPEG, GIF or WebP; None if it cannot be read."""
    readers = {"image/png": _png, "image/jpeg": _jpeg, "image/gif": _gif, "image/webp": _webp}
    read = readers.get(media_type(data))
    size = read(data) if read else None
    return size if size and min(size) > 0 else None


def media_type(data: bytes) -> str:
    """Return the media type according to the first bytes, or an empty string."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(_SOI):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return ""


def _png(data: bytes) -> PixelSize | None:
    if len(data) < 24:
        return None
    return PixelSize(int.from_bytes(data[16:20]), int.from_bytes(data[20:24]))


def _gif(data: bytes) -> PixelSize | None:
    if len(data) < 10:
        return None
    return PixelSize(int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little"))


def _jpeg(data: bytes) -> PixelSize | None:
    """Read the markers up to the frame."""
    offset = 2
    while offset + 9 <= len(data):
        if data[offset] != 0xFF:
            return None
        marker = data[offset + 1]
        if marker in _SIZES:
            height, width = data[offset + 5 : offset + 7], data[offset + 7 : offset + 9]
            return PixelSize(int.from_bytes(width), int.from_bytes(height))
        if marker == 0xFF:  # padding
            offset += 1
        elif marker in _NO_LENGTH:
            offset += 2
        else:
            offset += 2 + int.from_bytes(data[offset + 2 : offset + 4])
    return None


def _webp(data: bytes) -> PixelSize | None:
    if len(data) < 30:
        return None
    match data[12:16]:
        case b"VP8 ":
            width, height = data[26:28], data[28:30]
            mask = 0x3FFF  # the other two bits are a scale
            return PixelSize(
                int.from_bytes(width, "little") & mask, int.from_bytes(height, "little") & mask
            )
        case b"VP8L":
            bits = int.from_bytes(data[21:25], "little")
            return PixelSize((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        case b"VP8X":
            width, height = data[24:27], data[27:30]
            return PixelSize(
                int.from_bytes(width, "little") + 1, int.from_bytes(height, "little") + 1
            )
    return None

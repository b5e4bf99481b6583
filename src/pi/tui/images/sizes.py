"""How large a picture is: in pixels, read from its first bytes, and in cells of a terminal."""

from __future__ import annotations

from typing import NamedTuple

_SOI = b"\xff\xd8"
_NO_LENGTH = (0x01, *range(0xD0, 0xDA))
"""JPEG markers that stand alone."""
_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG markers of frames, which say the size; the others in that range are tables."""


class Size(NamedTuple):
    """Pixels across and down."""

    width: int
    height: int


class Cells(NamedTuple):
    """Columns and rows."""

    columns: int
    rows: int


def picture_size(data: bytes) -> Size | None:
    """The size of a PNG, JPEG, GIF or WebP, or nothing if it cannot be read."""
    readers = {"image/png": _png, "image/jpeg": _jpeg, "image/gif": _gif, "image/webp": _webp}
    read = readers.get(media_type(data))
    size = read(data) if read else None
    return size if size and min(size) > 0 else None


def media_type(data: bytes) -> str:
    """What a picture is by its first bytes, or nothing."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(_SOI):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return ""


def fit(size: Size, cell: Size, most: Cells) -> Cells:
    """The cells of a picture in its own proportions: no larger than it is, nor than ``most``."""
    scale = min(
        1.0,
        most.columns * cell.width / size.width,
        most.rows * cell.height / size.height,
    )
    return Cells(
        min(max(_divided_up(size.width * scale, cell.width), 1), most.columns),
        min(max(_divided_up(size.height * scale, cell.height), 1), most.rows),
    )


def _divided_up(length: float, unit: int) -> int:
    return -int(-round(length, 6) // unit)


def _png(data: bytes) -> Size | None:
    if len(data) < 24:
        return None
    return Size(int.from_bytes(data[16:20]), int.from_bytes(data[20:24]))


def _gif(data: bytes) -> Size | None:
    if len(data) < 10:
        return None
    return Size(int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little"))


def _jpeg(data: bytes) -> Size | None:
    """Goes from marker to marker up to the frame."""
    place = 2
    while place + 9 <= len(data):
        if data[place] != 0xFF:
            return None
        marker = data[place + 1]
        if marker in _SIZES:
            height, width = data[place + 5 : place + 7], data[place + 7 : place + 9]
            return Size(int.from_bytes(width), int.from_bytes(height))
        if marker == 0xFF:  # filling
            place += 1
        elif marker in _NO_LENGTH:
            place += 2
        else:
            place += 2 + int.from_bytes(data[place + 2 : place + 4])
    return None


def _webp(data: bytes) -> Size | None:
    if len(data) < 30:
        return None
    match data[12:16]:
        case b"VP8 ":
            width, height = data[26:28], data[28:30]
            mask = 0x3FFF  # two bits say how to scale
            return Size(
                int.from_bytes(width, "little") & mask, int.from_bytes(height, "little") & mask
            )
        case b"VP8L":
            bits = int.from_bytes(data[21:25], "little")
            return Size((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        case b"VP8X":
            width, height = data[24:27], data[27:30]
            return Size(int.from_bytes(width, "little") + 1, int.from_bytes(height, "little") + 1)
    return None

"""Opens pictures with Pillow within memory limits.

A file of 20 kB can unpack to gigabytes. All decoders open pictures here, where too many pixels are
refused, and decode them inside ``ONE_AT_A_TIME``. Large pictures are reduced in tiles, so that no
second copy of all pixels is made.
"""

from __future__ import annotations

import io
import sys
from contextlib import suppress
from functools import cache
from itertools import product
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PIXELS = 52_000_000
"""Maximum size of a decoded picture, at four bytes per pixel: enough for 50 megapixel phones."""
ONE_AT_A_TIME = Lock()
"""Held while a picture is decoded: tools read several files concurrently."""
UNREADABLE = (OSError, SyntaxError, ValueError, EOFError)
"""Exceptions of Pillow for damaged pictures and for bytes that are not a picture."""
LARGE = 16_000_000
"""Pixels above which a picture is reduced before anything else."""
_TILE = 1024
"""Approximate edge length of a tile that is converted at once."""
_M_MMAP_THRESHOLD = -3
"""Option of ``mallopt``: the size from which memory is mapped, and unmapped when it is freed."""
_MAPPED_BYTES = 4 * 1024 * 1024
_PLAIN = ("L", "RGB", "RGBA")


class TooManyPixels(OSError):
    """A picture would take too much memory; ``size`` is from its header."""

    def __init__(self, size: tuple[int, int]) -> None:
        super().__init__(f"{size[0]}x{size[1]} pixels exceed the limit of {MAX_PIXELS:,} pixels")
        self.size = size


def open_picture(data: bytes) -> Image:
    """Open a picture and read its header only.

    Raises ``TooManyPixels`` or one of ``UNREADABLE``.
    """
    from PIL import Image as Pillow  # lazy: takes 20 ms, and few sessions see a picture

    Pillow.MAX_IMAGE_PIXELS = None  # disables Pillow's warning; the limit is below
    _return_freed_memory()
    picture = Pillow.open(io.BytesIO(data))
    if picture.width * picture.height > MAX_PIXELS:
        raise TooManyPixels(picture.size)
    return picture


@cache
def _return_freed_memory() -> None:
    """Have glibc return freed pixels to the system at once.

    By default it keeps up to 40 MB for every thread that has decoded a picture: six pictures, read
    one after the other, took 700 MB.
    """
    import ctypes  # lazy: few starts see a picture

    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _MAPPED_BYTES)


def shrunk(picture: Image, size: tuple[int, int]) -> Image:
    """Return a large picture decoded and reduced by whole factors, to no less than ``size``.

    Its own pixels are released; a picture that is not large is returned unchanged.
    """
    if picture.width * picture.height <= LARGE:
        return picture
    picture.draft(None, size)  # JPEG: decoded at an eighth of its size or more
    picture.load()
    across = max(picture.width // max(size[0], 1), 1)
    down = max(picture.height // max(size[1], 1), 1)
    if across == down == 1:
        return picture
    small = _reduced(picture, across, down)
    picture.close()
    return small


def _reduced(picture: Image, across: int, down: int) -> Image:
    """Like ``Image.reduce``, which would convert, and thereby copy, the whole picture first."""
    from PIL import Image as Pillow

    width, height = picture.size
    mode = picture.mode if picture.mode in _PLAIN else "RGBA"
    small = Pillow.new(mode, (-(-width // across), -(-height // down)))
    columns, rows = max(_TILE // across, 1) * across, max(_TILE // down, 1) * down
    for top, left in product(range(0, height, rows), range(0, width, columns)):
        tile = picture.crop((left, top, min(left + columns, width), min(top + rows, height)))
        if tile.mode != mode:
            tile = tile.convert(mode)
        small.paste(tile.reduce((across, down)), (left // across, top // down))
    return small


_PIXEL_CHUNKS = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND")


def without_ancillary_chunks(png: bytes) -> bytes:
    """Return a PNG with only the chunks that its pixels need; unchanged if it is cut off.

    Pillow refuses a file with a wrong checksum in any chunk, e.g. in a text.
    """
    start, chunks = 8, [png[:8]]
    while start < len(png):
        end = start + 12 + int.from_bytes(png[start : start + 4])
        if end > len(png):
            return png
        name = png[start + 4 : start + 8]
        if name in _PIXEL_CHUNKS:
            chunks.append(png[start:end])
        if name == b"IEND":
            break
        start = end
    return b"".join(chunks)

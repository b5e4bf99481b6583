"""Pictures opened with Pillow, within limits of memory.

A file of 20 kB can unpack to gigabytes. Whoever decodes a picture opens it here, which refuses too
many pixels, and decodes it inside ``ONE_AT_A_TIME``. Large pictures are reduced in tiles, so that
no second copy of all pixels is made.
"""

from __future__ import annotations

import io
from itertools import product
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_PIXELS = 52_000_000
"""Pixels of a picture that is decoded, at four bytes each: enough for phones with 50 megapixels."""
ONE_AT_A_TIME = Lock()
"""Held while a picture is decoded: tools read several files side by side."""
UNREADABLE = (OSError, SyntaxError, ValueError, EOFError)
"""What Pillow raises for bytes that are no picture, or a damaged one."""
LARGE = 16_000_000
"""Pixels from which on a picture is reduced before anything else happens to it."""
_TILE = 1024
"""Pixels across and down that are converted at once, about."""
_PLAIN = ("L", "RGB", "RGBA")


class TooManyPixels(OSError):
    """A picture that would take too much memory; ``size`` is what it says of itself."""

    def __init__(self, size: tuple[int, int]) -> None:
        super().__init__(f"{size[0]}x{size[1]} pixels exceed the limit of {MOST_PIXELS:,} pixels")
        self.size = size


def open_picture(data: bytes) -> Image:
    """A picture of which only the head is read; ``TooManyPixels``, or one of ``UNREADABLE``."""
    # Pillow takes 20 ms to import, and most sessions never see a picture.
    from PIL import Image as Pillow

    Pillow.MAX_IMAGE_PIXELS = None  # else it prints a warning; the limit is below
    picture = Pillow.open(io.BytesIO(data))
    if picture.width * picture.height > MOST_PIXELS:
        raise TooManyPixels(picture.size)
    return picture


def shrunk(picture: Image, size: tuple[int, int]) -> Image:
    """A large picture decoded and reduced by whole factors, to no less than ``size``.

    Its own pixels are given up; a picture that is not large is returned as it is.
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
    """As ``Image.reduce``, which would convert, and thereby copy, the whole picture first."""
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

"""Sixel pictures, made with Pillow, which is loaded when there is one to make."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from pi.base.pictures import ONE_AT_A_TIME, open_picture, shrunk
from pi.tui.images.sizes import Size

if TYPE_CHECKING:
    from PIL.Image import Image

_COLOURS = 256
_BAND = 6
"""Rows of pixels that one line of sixels holds."""


def encode(data: bytes, size: Size) -> str:
    """The picture, scaled to ``size`` pixels, as a sequence that draws it at the cursor.

    Raises ``OSError`` if the picture cannot be read.
    """
    with ONE_AT_A_TIME, open_picture(data) as picture:
        flat = shrunk(picture, size).convert("RGB").resize(size).quantize(_COLOURS)
    bands = [_encode_band(flat, top) for top in range(0, size.height, _BAND)]
    raster = f'"1;1;{size.width};{size.height}'
    return f"\x1bP0;1;0q{raster}{_palette(flat)}{'-'.join(bands)}\x1b\\"


def _palette(picture: Image) -> str:
    colours = picture.getpalette() or []
    return "".join(
        "#{};2;{};{};{}".format(number // 3, *(round(part / 2.55) for part in colours[number:][:3]))
        for number in range(0, len(colours), 3)
    )


def _encode_band(picture: Image, top: int) -> str:
    """Six rows of pixels: for each colour in them one line of sixels, drawn over each other."""
    width, height = picture.size
    rows = min(_BAND, height - top)
    pixels = picture.crop((0, top, width, top + rows)).tobytes()
    masks: dict[int, bytearray] = {}
    for place, colour in enumerate(pixels):
        mask = masks.setdefault(colour, bytearray(width))
        mask[place % width] |= 1 << place // width
    return "$".join(f"#{colour}{_packed(mask)}" for colour, mask in masks.items())


def _packed(mask: bytearray) -> str:
    """Sixels with runs written as a count."""
    parts = []
    for bits, run in groupby(mask):
        length = len(list(run))
        sixel = chr(63 + bits)
        parts.append(f"!{length}{sixel}" if length > 3 else sixel * length)
    return "".join(parts)

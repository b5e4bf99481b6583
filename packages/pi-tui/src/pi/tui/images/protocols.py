"""Encoders for the Kitty, iTerm2 and Sixel image protocols; sizes in pixels and cells."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from pi.base.picture_sizes import PixelSize
from pi.base.pictures import ONE_AT_A_TIME, open_picture, shrunk

if TYPE_CHECKING:
    from PIL.Image import Image


class CellExtent(NamedTuple):
    """Columns and rows."""

    columns: int
    rows: int


def fit(size: PixelSize, cell: PixelSize, most: CellExtent) -> CellExtent:
    """Return the cells of an image in its proportions: not enlarged, and at most ``most``."""
    scale = min(
        1.0,
        most.columns * cell.width / size.width,
        most.rows * cell.height / size.height,
    )
    return CellExtent(
        min(max(_divided_up(size.width * scale, cell.width), 1), most.columns),
        min(max(_divided_up(size.height * scale, cell.height), 1), most.rows),
    )


def _divided_up(length: float, unit: int) -> int:
    return -int(-round(length, 6) // unit)


_PLACED = r"\x1b_Ga=p,q=2,C=1,i=(\d+),p=1,c=\d+,r=(\d+)\x1b\\"
"""Matches the sequence that ``place`` returns; the groups are the id and the rows."""
_CHUNK = 4096
"""Base64 characters in one sequence, the limit of the protocol."""

_PLACEHOLDER = "\U0010eeee"
_NUMBER_MARKS = (
    "\u0305\u030d\u030e\u0310\u0312\u033d\u033e\u033f\u0346\u034a\u034b\u034c\u0350\u0351\u0352\u0357"
    "\u035b\u0363\u0364\u0365\u0366\u0367\u0368\u0369\u036a\u036b\u036c\u036d\u036e\u036f\u0483\u0484"
    "\u0485\u0486\u0487\u0592\u0593\u0594\u0595\u0597\u0598\u0599\u059c\u059d\u059e\u059f\u05a0\u05a1"
    "\u05a8\u05a9\u05ab\u05ac\u05af\u05c4\u0610\u0611\u0612\u0613\u0614\u0615\u0616\u0617\u0657\u0658"
)
"""Combining marks for the numbers from 0 on, in the order of the Kitty specification."""

MAX_ROWS = len(_NUMBER_MARKS)
"""The greatest height for which placeholders are used."""


def transmit(image_id: int, png: str) -> str:
    """Return the sequence that sends a base64 PNG without showing it. No reply is requested."""
    chunks = [png[start : start + _CHUNK] for start in range(0, len(png), _CHUNK)] or [""]
    sequences = []
    for number, chunk in enumerate(chunks):
        control = f"a=t,f=100,q=2,i={image_id}," if number == 0 else "q=2,"
        sequences.append(f"\x1b_G{control}m={int(number < len(chunks) - 1)};{chunk}\x1b\\")
    return "".join(sequences)


def place(image_id: int, cells: CellExtent) -> str:
    """Return the sequence that shows an image at the cursor, which does not move.

    A second placement replaces the first: each image is shown in one place.
    """
    return f"\x1b_Ga=p,q=2,C=1,i={image_id},p=1,c={cells.columns},r={cells.rows}\x1b\\"


def placed(rows: Iterable[str]) -> set[int]:
    """Return the ids of the images that ``place`` shows on these rows."""
    return {int(match[1]) for row in rows if "\x1b_G" in row for match in re.finditer(_PLACED, row)}


def clipped(row: str, rows_left: int) -> str:
    """Return a row without images that would extend more than ``rows_left`` rows down."""
    if "\x1b_G" not in row:
        return row
    return re.sub(_PLACED, lambda match: match[0] if int(match[2]) <= rows_left else "", row)


def hide(image_id: int) -> str:
    """Return the sequence that hides an image. The terminal keeps its data."""
    return f"\x1b_Ga=d,d=i,i={image_id},p=1,q=2\x1b\\"


def place_virtually(image_id: int, cells: CellExtent) -> str:
    """Return the sequence that sets the size of an image shown with placeholders."""
    return f"\x1b_Ga=p,U=1,q=2,i={image_id},p=1,c={cells.columns},r={cells.rows}\x1b\\"


def placeholders(image_id: int, cells: CellExtent) -> list[str]:
    """Return rows of placeholder characters, which scroll, clip and are erased like text.

    The colour encodes the image id and the marks encode the row. Further columns count from the
    first.
    """
    red, green, blue = image_id.to_bytes(3)
    first_column = _NUMBER_MARKS[0]
    return [
        f"\x1b[38;2;{red};{green};{blue}m{_PLACEHOLDER}{_NUMBER_MARKS[row]}{first_column}"
        f"{_PLACEHOLDER * (cells.columns - 1)}\x1b[39m"
        for row in range(cells.rows)
    ]


def delete(image_id: int) -> str:
    """Return the sequence that removes an image from the screen and from the terminal's memory."""
    return f"\x1b_Ga=d,d=I,i={image_id},q=2\x1b\\"


def show(data: str, cells: CellExtent, *, size: int, name: str = "") -> str:
    """Return an iTerm2 sequence that shows a base64 image. ``size`` is its length in bytes."""
    title = f";name={b64encode(name.encode()).decode()}" if name else ""
    area = f"width={cells.columns};height={cells.rows};preserveAspectRatio=1"
    return f"\x1b]1337;File=inline=1;size={size};{area}{title}:{data}\x07"


_COLOURS = 256
_BAND = 6
"""Pixel rows in one line of sixels."""


def encode(data: bytes, size: PixelSize) -> str:
    """Return the Sixel sequence that draws an image, scaled to ``size`` pixels.

    Raises ``OSError`` if the image cannot be read. Pillow is imported on first use.
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
    """Encode six pixel rows: one line of sixels per colour, drawn over each other."""
    width, height = picture.size
    rows = min(_BAND, height - top)
    pixels = picture.crop((0, top, width, top + rows)).tobytes()
    masks: dict[int, bytearray] = {}
    for index, colour in enumerate(pixels):
        mask = masks.setdefault(colour, bytearray(width))
        mask[index % width] |= 1 << index // width
    return "$".join(f"#{colour}{_packed(mask)}" for colour, mask in masks.items())


def _packed(mask: bytearray) -> str:
    """Return sixels with runs written as a count."""
    parts = []
    for bits, run in groupby(mask):
        length = len(list(run))
        sixel = chr(63 + bits)
        parts.append(f"!{length}{sixel}" if length > 3 else sixel * length)
    return "".join(parts)

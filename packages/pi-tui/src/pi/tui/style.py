"""Colours and text attributes for any colour depth."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import IntEnum
from functools import lru_cache
from typing import TypeAlias

from pi.base.records import Record

Paint: TypeAlias = Callable[[str], str]
"""Styles a text of one line and closes the style."""

Colour: TypeAlias = str | int
"""``#rrggbb``, or an index of the terminal's palette (0 to 255)."""


class ColourDepth(IntEnum):
    """The number of colours that a terminal supports."""

    NONE = 0
    BASIC = 16
    PALETTE = 256
    TRUE = 1 << 24


class Style(Record):
    """Colours and attributes of a text; unset fields inherit from the surrounding text."""

    colour: Colour | None = None
    background: Colour | None = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    inverse: bool = False
    strike: bool = False


_ATTRIBUTES = (
    ("bold", "1", "22"),
    ("dim", "2", "22"),
    ("italic", "3", "23"),
    ("underline", "4", "24"),
    ("inverse", "7", "27"),
    ("strike", "9", "29"),
)

_ENDING = r"\x1b\[((?:0|2[2-9]|39|49|55|59)?(?:;(?:0|2[2-9]|39|49|55|59))*)m"
"""A sequence that only ends styles."""


def painter(style: Style, depth: ColourDepth = ColourDepth.TRUE) -> Paint:
    """Return a function that styles text. Styles inside the text take precedence."""
    parts = _parts(style, depth)
    if not parts:
        return unpainted
    opening = f"\x1b[{';'.join(start for start, _ in parts)}m"
    closing = f"\x1b[{';'.join(dict.fromkeys(end for _, end in parts))}m"

    def reopen(ending: re.Match[str]) -> str:
        ended = set(ending[1].split(";"))
        is_reset = not ended.isdisjoint({"", "0"})
        again = ";".join(start for start, end in parts if is_reset or end in ended)
        return f"{ending[0]}\x1b[{again}m" if again else ending[0]

    def paint(text: str) -> str:
        if not text:
            return ""
        if "\x1b[" in text:
            text = re.sub(_ENDING, reopen, text)
        return f"{opening}{text}{closing}"

    return paint


def unpainted(text: str) -> str:
    """Return the text unchanged: the paint without a style."""
    return text


def _parts(style: Style, depth: ColourDepth) -> list[tuple[str, str]]:
    """Return the sequences that start the style, each with its end.

    At depth zero only the attributes remain.
    """
    parts = [(start, end) for name, start, end in _ATTRIBUTES if getattr(style, name)]
    if style.colour is not None and depth:
        parts.append((_colour_parameters(style.colour, depth, 30), "39"))
    if style.background is not None and depth:
        parts.append((_colour_parameters(style.background, depth, 40), "49"))
    return parts


inverse: Paint = painter(Style(inverse=True))
"""The style of cursors and selections."""


@lru_cache(maxsize=512)
def _colour_parameters(colour: Colour, depth: ColourDepth, base: int) -> str:
    """Return the SGR parameters of a colour; ``base`` is 30 for text, 40 for the background."""
    if isinstance(colour, str):
        red, green, blue = bytes.fromhex(colour.removeprefix("#"))
        if depth == ColourDepth.TRUE:
            return f"{base + 8};2;{red};{green};{blue}"
        colour = nearest((red, green, blue), range(16, 256) if depth > 16 else range(16))
    if depth == ColourDepth.BASIC and colour > 15:
        colour = nearest(palette_rgb(colour), range(16))
    if colour < 8:
        return str(base + colour)
    if colour < 16:
        return str(base + 60 + colour - 8)
    return f"{base + 8};5;{colour}"


_FIRST_SIXTEEN = (
    "000000cd000000cd00cdcd000000eecd00cd00cdcde5e5e5"  # dark
    "7f7f7fff000000ff00ffff005c5cffff00ff00ffffffffff"  # bright
)
_CUBE_LEVELS = (0, 95, 135, 175, 215, 255)


@lru_cache(maxsize=256)
def palette_rgb(index: int) -> tuple[int, int, int]:
    """Return the usual value of a palette colour. Users can change the first sixteen."""
    if index < 16:
        red, green, blue = bytes.fromhex(_FIRST_SIXTEEN[index * 6 : index * 6 + 6])
        return red, green, blue
    if index < 232:
        cube = index - 16
        return _CUBE_LEVELS[cube // 36], _CUBE_LEVELS[cube // 6 % 6], _CUBE_LEVELS[cube % 6]
    grey = 8 + 10 * (index - 232)
    return grey, grey, grey


def nearest(rgb: tuple[int, int, int], indices: range) -> int:
    """Return the index among ``indices`` whose colour is most similar to ``rgb``."""
    return min(indices, key=lambda index: _distance(rgb, palette_rgb(index)))


def nearest_hue(rgb: tuple[int, int, int]) -> int:
    """Return the palette colour most similar to ``rgb`` that is not grey.

    The palette has few dark and few light colours, and greys in between: two soft tints would
    become the same grey.
    """
    colours = (index for index in range(16, 232) if len(set(palette_rgb(index))) > 1)
    return min(colours, key=lambda index: _distance(_vivid(rgb), palette_rgb(index)))


def _vivid(rgb: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return the colour with its hue stressed, at the same brightness."""
    middle = sum(rgb) / 3
    red, green, blue = (min(max(round(middle + (part - middle) * 4), 0), 255) for part in rgb)
    return red, green, blue


def _distance(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    """Return the distance of two colours ("redmean", an approximation of perceived distance)."""
    red = (one[0] + other[0]) / 2
    return (
        (2 + red / 256) * (one[0] - other[0]) ** 2
        + 4 * (one[1] - other[1]) ** 2
        + (2 + (255 - red) / 256) * (one[2] - other[2]) ** 2
    )

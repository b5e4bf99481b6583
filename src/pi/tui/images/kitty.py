"""The Kitty graphics protocol: a picture is sent once and shown as often as wanted. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pi.tui.images.sizes import Cells

_PLACED = r"\x1b_Ga=p,q=2,C=1,i=(\d+),p=1,c=\d+,r=(\d+)\x1b\\"
"""What ``place`` writes."""
_CHUNK = 4096
"""Characters of base64 in one sequence, as the protocol wants it."""

_PLACEHOLDER = "\U0010eeee"
_NUMBER_MARKS = (
    "\u0305\u030d\u030e\u0310\u0312\u033d\u033e\u033f\u0346\u034a\u034b\u034c\u0350\u0351\u0352\u0357"
    "\u035b\u0363\u0364\u0365\u0366\u0367\u0368\u0369\u036a\u036b\u036c\u036d\u036e\u036f\u0483\u0484"
    "\u0485\u0486\u0487\u0592\u0593\u0594\u0595\u0597\u0598\u0599\u059c\u059d\u059e\u059f\u05a0\u05a1"
    "\u05a8\u05a9\u05ab\u05ac\u05af\u05c4\u0610\u0611\u0612\u0613\u0614\u0615\u0616\u0617\u0657\u0658"
)
"""Combining marks that stand for the numbers from 0 on, in the order the protocol lists them."""

MOST_ROWS = len(_NUMBER_MARKS)
"""The tallest picture that placeholders are used for."""


def transmit(image_id: int, png: str) -> str:
    """Send a PNG, in base64, without showing it; the terminal is asked not to answer."""
    chunks = [png[start : start + _CHUNK] for start in range(0, len(png), _CHUNK)] or [""]
    sequences = []
    for number, chunk in enumerate(chunks):
        control = f"a=t,f=100,q=2,i={image_id}," if number == 0 else "q=2,"
        sequences.append(f"\x1b_G{control}m={int(number < len(chunks) - 1)};{chunk}\x1b\\")
    return "".join(sequences)


def place(image_id: int, cells: Cells) -> str:
    """Show a picture below and right of the cursor, which stays where it is.

    A second one replaces the first: the screen shows each picture in one place.
    """
    return f"\x1b_Ga=p,q=2,C=1,i={image_id},p=1,c={cells.columns},r={cells.rows}\x1b\\"


def placed(rows: Iterable[str]) -> set[int]:
    """The pictures that ``place`` shows on these rows."""
    return {int(found[1]) for row in rows if "\x1b_G" in row for found in re.finditer(_PLACED, row)}


def clipped(row: str, rows_left: int) -> str:
    """A row without those of its pictures that would reach further down than ``rows_left`` rows."""
    if "\x1b_G" not in row:
        return row
    return re.sub(_PLACED, lambda found: found[0] if int(found[2]) <= rows_left else "", row)


def take_off(image_id: int) -> str:
    """Show a picture no longer; the terminal keeps it."""
    return f"\x1b_Ga=d,d=i,i={image_id},p=1,q=2\x1b\\"


def place_virtually(image_id: int, cells: Cells) -> str:
    """Say how large a picture is that placeholders will show."""
    return f"\x1b_Ga=p,U=1,q=2,i={image_id},p=1,c={cells.columns},r={cells.rows}\x1b\\"


def placeholders(image_id: int, cells: Cells) -> list[str]:
    """Rows of characters that show a picture: they scroll, clip and are erased like any text.

    The colour tells which picture, the marks which row; further columns count from the first.
    """
    red, green, blue = image_id.to_bytes(3)
    first_column = _NUMBER_MARKS[0]
    return [
        f"\x1b[38;2;{red};{green};{blue}m{_PLACEHOLDER}{_NUMBER_MARKS[row]}{first_column}"
        f"{_PLACEHOLDER * (cells.columns - 1)}\x1b[39m"
        for row in range(cells.rows)
    ]


def delete(image_id: int) -> str:
    """Take a picture from the screen and from the terminal's memory."""
    return f"\x1b_Ga=d,d=I,i={image_id},q=2\x1b\\"

"""The bundled bitmap font: glyphs five pixels wide, accents, and replacements of characters."""

from __future__ import annotations

import unicodedata
from functools import cache
from pathlib import Path

ABOVE, BODY, BELOW = 2, 7, 2
"""Rows of an accent, of a letter, and below the baseline."""
HEIGHT = ABOVE + BODY + BELOW
WIDTH = 5
UNKNOWN = "□"
NEW_LINE = "⏎"

_SIMILAR = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′ʼ", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑‒–—―−─━", "-"),
        **dict.fromkeys("│┃║", "|"),
        **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╰╯╔╗╚╝", "+"),
        **dict.fromkeys("•●▪■◦○", "·"),
        **dict.fromkeys("\u00a0\u2009\u202f\u2007", " "),
        "…": "...",
        "→": "->",
        "←": "<-",
        "⇒": "=>",
        "≤": "<=",
        "≥": ">=",
        "≠": "!=",
        "×": "x",
        "✓": "[x]",
        "✔": "[x]",
        "✗": "[ ]",
        "✘": "[ ]",
        "©": "(c)",
        "®": "(R)",
        "™": "(TM)",
        "°": "o",
        "µ": "u",
        "½": "1/2",
        "\u200b": "",
        "\ufeff": "",
        "\ufe0f": "",
    }
)
"""Characters that are printed as others with the same meaning."""


@cache
def _tables() -> tuple[dict[str, tuple[int, ...]], dict[str, tuple[int, ...]]]:
    """Return glyphs by character, and rows of accents by combining character."""
    glyphs: dict[str, tuple[int, ...]] = {}
    accents: dict[str, tuple[int, ...]] = {}
    sheet = Path(__file__).with_name("glyphs.txt").read_text(encoding="utf-8")
    for line in sheet.splitlines():
        first, *rest = line.partition("#")[0].split()[:3] or [""]
        if first in ("above", "below"):
            rows = tuple(bytes.fromhex(rest[1]))
            gap = (0,) * (ABOVE + BODY)
            accents[chr(int(rest[0], 16))] = rows if first == "above" else gap + rows
        elif first:
            rows = tuple(bytes.fromhex(rest[0] if rest else ""))
            glyph_rows = (0,) * ABOVE + rows
            glyphs[chr(int(first, 16))] = glyph_rows + (0,) * (HEIGHT - len(glyph_rows))
    return glyphs, accents


@cache
def glyph(char: str) -> tuple[int, ...] | None:
    """Return the rows of a character from the top, bit 4 left; ``None`` if it cannot be printed."""
    glyphs, accents = _tables()
    if char in glyphs:
        return glyphs[char]
    base, *marks = list(unicodedata.normalize("NFD", char))
    if base not in glyphs or not all(mark in accents for mark in marks):
        return None
    rows = list(glyphs[base])
    for mark in marks:
        for row, bits in enumerate(accents[mark]):
            rows[row] |= bits
    return tuple(rows)


def printable(text: str) -> tuple[str, int]:
    """Return ``text`` in characters of the font, and the number of characters without a glyph."""
    similar = unicodedata.normalize("NFC", text.translate(_SIMILAR))
    missing = 0
    printed: list[str] = []
    for char in similar:
        if glyph(char) is None:
            missing += 1
            printed.append(UNKNOWN)
        else:
            printed.append(char)
    return "".join(printed), missing

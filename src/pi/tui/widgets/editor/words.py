"""Where words begin and end.

Letters, digits and underscores of one script make a word; so do runs of blanks, of ASCII
punctuation and of other signs. Between Han, Hiragana and Katakana a word ends too, which comes
close to what a reader of Japanese or Chinese expects without a dictionary.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~")

_SCRIPTS = (
    (range(0x3041, 0x30A0), "hiragana"),
    (range(0x30A0, 0x3100), "katakana"),
    (range(0x31F0, 0x3200), "katakana"),
    (range(0xFF66, 0xFFA0), "katakana"),
    (range(0x3400, 0xA000), "han"),
    (range(0xF900, 0xFB00), "han"),
    (range(0x20000, 0x32000), "han"),
)


def first_word(units: Iterable[str]) -> int:
    """How many characters the blanks at the front and the word behind them have."""
    length = 0
    for kind, run in groupby(units, kind_of):
        length += sum(map(len, run))
        if kind != "blank":
            break
    return length


def kind_of(unit: str) -> str:
    """What sort of word a grapheme belongs to; a paste marker is a word by itself."""
    if len(unit) > 1 and unit[0] == "[":
        return unit
    char = unit[0]
    if char.isspace():
        return "blank"
    if char in _PUNCTUATION:
        return "punctuation"
    if char.isascii():
        return "word"
    if char.isalnum():
        return next((script for points, script in _SCRIPTS if ord(char) in points), "word")
    return "sign"

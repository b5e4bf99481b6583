"""JSON as people write it: with comments and trailing commas. Pure."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import msgspec

from pi.base.records import UNREADABLE

# What is not closed goes on to the end: to look for the end again behind each of many
# quotation marks would take hours in a file of megabytes.
_STRING = r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)'
_COMMENT = rf"(?s)({_STRING}|/\*(?!.*?\*/).*)|//[^\n]*|/\*.*?\*/"
_TRAILING_COMMA = rf"(?s)({_STRING})|,(?=\s*[}}\]])"


def parse_relaxed(text: str) -> Any:
    """The value that ``text`` describes; ``ValueError`` with the reason when it is no JSON.

    ``1e6`` and ``8.0`` are whole numbers. What is taken out is replaced by spaces, so that the
    position in the reason is the real one.
    """
    text = text.removeprefix("\ufeff")
    with suppress(*UNREADABLE):
        return _decode(text)  # most files are plain JSON
    plain = re.sub(_TRAILING_COMMA, _blank, re.sub(_COMMENT, _blank, text))
    try:
        return _decode(plain)
    except UNREADABLE as problem:
        raise ValueError(str(problem)) from problem


def _decode(text: str) -> Any:
    decoder = msgspec.json.Decoder(float_hook=_number)
    return decoder.decode(text.encode("utf-8", "surrogatepass"))


def _number(literal: str) -> int | float:
    number = float(literal)
    return int(number) if number.is_integer() else number


def _blank(found: re.Match[str]) -> str:
    if found[1] is not None:
        return found[1]
    return "".join(character if character == "\n" else " " for character in found[0])

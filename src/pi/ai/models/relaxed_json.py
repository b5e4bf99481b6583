"""JSON as people write it: with comments and trailing commas. Pure."""

from __future__ import annotations

import re
from typing import Any

import msgspec

_STRING = r'"(?:[^"\\]|\\.)*"'
_COMMENT = re.compile(rf"({_STRING})|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"({_STRING})|,(?=\s*[}}\]])", re.DOTALL)


def parse_relaxed(text: str) -> Any:
    """The value that ``text`` describes; ``ValueError`` with the reason when it is no JSON.

    What is taken out is replaced by spaces, so that the position in the reason is the real one.
    """
    plain = _TRAILING_COMMA.sub(_blank, _COMMENT.sub(_blank, text.removeprefix("\ufeff")))
    try:
        return msgspec.json.decode(plain.encode("utf-8", "surrogatepass"))
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise ValueError(str(problem)) from problem


def _blank(found: re.Match[str]) -> str:
    if found[1] is not None:
        return found[1]
    return "".join(character if character == "\n" else " " for character in found[0])

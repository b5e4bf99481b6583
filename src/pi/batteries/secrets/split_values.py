"""Finds secrets with something between their characters: colours, line wraps, escapes. Pure.

``decode`` and ``squeeze`` remove what may be between characters, so that one fast search shows
whether a value occurs at all. Only then is the exact place found with ``spread_pattern``.
"""

from __future__ import annotations

import re
from functools import lru_cache

LONGEST_SPREAD = 512
"""Maximal length of a value whose spread form is searched; longer ones are found by their lines."""

_ESCAPE = r"(?:\x1b|\\+(?:u001[bB]|x1[bB]|033|e))"
_COLOUR = rf"{_ESCAPE}\[[0-9;:?]*[ -/]*[@-~]"
_LINK = rf"{_ESCAPE}\][^\x07\x1b]{{0,2000}}(?:\x07|{_ESCAPE}\\+|\\+u0007)"
_INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
_WRAP = r"[ \t]*+(?:\r?\n|(?:\\+r)?\\+n)[ \t]*+"
# Possessive: what separates two characters is never tried in another way.
_GAP = rf"(?:{_COLOUR}|{_LINK}|{_WRAP}|[{_INVISIBLE}])*+"

# Each pattern begins with one plain character: ``re`` then searches ten times as fast.
_CODE = re.compile(rb"\\(?:(?:u00|x)([0-9a-fA-F]{2})|033|e(?=[\[\]]))")
_CONTROL = re.compile(rb"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\*))")
_ZERO_WIDTH = re.compile(rb"\xe2(?:\x80[\x8b-\x8d]|\x81\xa0)")
_SHORT = re.compile(rb"\\[nrt]")
_BLANKS = b" \t\r\n\\"


def decode(data: bytes) -> bytes:
    """UTF-8 without colours, links and invisible characters, and with decoded escapes."""
    data = _CODE.sub(_character, data)
    data = _CONTROL.sub(b"", data)
    if data.isascii():
        return data
    data = _ZERO_WIDTH.sub(b"", data)
    return data.replace(b"\xc2\xad", b"").replace(b"\xef\xbb\xbf", b"")


def _character(found: re.Match[bytes]) -> bytes:
    return chr(int(found[1], 16)).encode() if found[1] else b"\x1b"


def squeeze(decoded: bytes) -> bytes:
    """What ``decode`` returns without white space and backslashes."""
    return _SHORT.sub(b"", decoded).translate(None, _BLANKS)


def changed_lines(data: bytes) -> bytes:
    """The lines that ``decode`` changes, decoded."""
    lines: list[bytes] = []
    last = 0
    for pattern in (_CODE, _CONTROL, _ZERO_WIDTH):
        last = 0
        for found in pattern.finditer(data):
            if found.start() < last:
                continue
            start, end = data.rfind(b"\n", 0, found.start()) + 1, data.find(b"\n", found.end())
            last = end = len(data) if end < 0 else end
            lines.append(decode(data[start:end]))
    return b"\n".join(dict.fromkeys(lines))


def may_be_split(text: str) -> bool:
    """Whether a text has anything that could stand between the characters of a value."""
    return "\n" in text or "\\" in text or "\x1b" in text or not text.isascii()


@lru_cache(maxsize=256)
def spread_pattern(value: str) -> re.Pattern[str]:
    """The pattern of a value with colours, wraps, escapes or nothing between its characters."""
    return re.compile(_GAP.join(map(_letter, value)))


def _letter(letter: str) -> str:
    if letter.isspace():
        return r"(?:\s|\\+[nrt])*+"
    if letter == "\\":
        return r"\\+"
    code = f"{ord(letter):02x}"
    if len(code) > 2:
        return rf"(?:{re.escape(letter)}|\\+u(?i:{code:>04}))"
    escaped = rf"\\+(?:u00|x)(?i:{code})|%(?i:{code})"
    plain = re.escape(letter) if letter.isalnum() else rf"\\*{re.escape(letter)}"
    return f"(?:{plain}|{escaped})"

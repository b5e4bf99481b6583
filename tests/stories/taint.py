"""One hostile string, and the detection of its control sequences in output.

It is used as a name of folders, branches, models and sessions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LOOT = "PWNED"
"""The payload of every sequence that has one."""
HOSTILE = (
    f"evil\x1b]0;{LOOT}\x07\x1b[5;31m\x1b[97S\x9b5m\x9d0;{LOOT}\x9c\x1b]8;;javascript:{LOOT}\x07"
    f"\x1b]52;c;{LOOT}\x1b\\\x1b_G{LOOT}\x1b\\\rover\x08\x7f\u202enasty"
)
"""Fits into a file name. pi itself neither blinks (5) nor scrolls a region (S)."""

_SEQUENCE = re.compile(
    r"\x1b\[([0-?]*)([ -/]*[@-~])|\x1b[\]P^_X]([^\x07\x1b]*)(?:\x07|\x1b\\)|\x1b."
)
_OWN_FINALS = set("ABCDGHJKLmhlnctu") | {"$p", " q"}
_OWN_STRINGS = re.compile(
    r"0;.*|8;[\w=:.-]*;(?:(?:https?|mailto):[!-~]*)?|9;.*|99;.*|4;[\d;?]*|1[01];\?|7501;[\w;?=:.-]*|133;A;redraw=0|52;c;[A-Za-z0-9+/=]*|G[a-z]=.*"
)
_OWN_ESCAPES = {"\x1b7", "\x1b8"}


def offences(written: str) -> list[str]:
    """Return the control sequences in terminal output that pi itself does not write."""
    return list(_offences(written))


def offences_in_text(printed: str) -> list[str]:
    """Return everything in printed output that is not text, line ends or tabs."""
    return [*_offences(printed), *re.findall(r".{0,40}[\x1b\r].{0,40}", printed)]


def _offences(written: str) -> Iterator[str]:
    for found in re.finditer("[\x00-\x06\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]", written):
        yield f"a control: {_around(written, found)}"
    for found in re.finditer("[\u202a-\u202e\u2066-\u2069]", written):
        yield f"bidi: {_around(written, found)}"
    for found in re.finditer("evil\rover", written):
        yield f"a return: {_around(written, found)}"
    for found in _SEQUENCE.finditer(written):
        if not _is_own(found):
            yield f"a sequence: {_around(written, found)}"


def _is_own(found: re.Match[str]) -> bool:
    parameters, final, string = found.groups()
    if final is not None:
        return final in _OWN_FINALS and not (final == "m" and _blinks(parameters))
    if string is not None:
        return LOOT not in string and bool(_OWN_STRINGS.fullmatch(string))
    return found[0] in _OWN_ESCAPES


def _blinks(parameters: str) -> bool:
    """Return whether parameter 5 (blink) is present, and not as a part of a colour."""
    codes = iter(parameters.split(";"))
    for code in codes:
        if code in ("38", "48", "58"):
            for _ in range({"5": 1, "2": 3}.get(next(codes, ""), 0)):
                next(codes, None)
        elif code == "5":
            return True
    return False


def _around(text: str, found: re.Match[str]) -> str:
    return repr(text[max(found.start() - 60, 0) : found.end() + 40])

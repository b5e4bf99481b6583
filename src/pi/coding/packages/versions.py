"""Which of two versions is the newer one, of npm's and of Python's. Pure."""

from __future__ import annotations

import re
from typing import TypeAlias

Key: TypeAlias = tuple[object, ...]

_VERSION = re.compile(
    r"v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)(?P<rest>[-.\w]*)(?:\+\S*)?", re.ASCII
)
_PART = re.compile(r"\d+|[a-z]+")
_SHORT = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc", "rev": "post"}


def is_newer(candidate: str, installed: str) -> bool:
    """Whether ``candidate`` is above ``installed``; what cannot be compared is not."""
    new, old = _key(candidate), _key(installed)
    return new is not None and old is not None and new > old


def _key(version: str) -> Key | None:
    found = _VERSION.fullmatch(version.strip())
    if found is None:
        return None
    numbers = [int(part) for part in found["release"].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    parts = [_SHORT.get(part, part) for part in _PART.findall(found["rest"].lower())]
    # dev < other words < no word < post; within them dev < the end < numbers < words.
    rank = 2 if not parts else {"dev": 0, "post": 3}.get(parts[0], 1)
    return int(found["epoch"] or 0), numbers, rank, [*map(_weight, parts), (1, 0, "")]


def _weight(part: str) -> tuple[int, int, str]:
    if part.isdigit():
        return 2, int(part), ""
    return (0, 0, "") if part == "dev" else (3, 0, part)

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
    # dev < other words < no word < post; within them numbers, which are below words, as for npm.
    rank = 2 if not parts else {"dev": 0, "post": 3}.get(parts[0], 1)
    detail = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts)
    return int(found["epoch"] or 0), numbers, rank, detail

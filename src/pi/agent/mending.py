"""Values as a model meant them: what can be read as another type without guessing. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from pi.agent.problems import Place, kind_of, literal
from pi.base.records import UNREADABLE, UNSET

INTEGER = r"(?a)[+-]?\d{1,30}(?:\.0+)?"
NUMBER = r"(?a)[+-]?\d{1,30}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?"
WORDS = r"[a-z]+|[A-Z][a-z]*"
PATH_WORDS = frozenset(
    {"path", "paths", "file", "files", "filename", "filepath", "dir", "directory", "folder", "cwd"}
)


def fits(value: object, types: Sequence[str]) -> bool:
    """Whether a value is of one of these JSON types as it stands."""
    kind = kind_of(value)
    return kind in types or (kind == "number" and "integer" in types and isinstance(value, int))


def mend(value: object, wanted: str) -> Any:
    """``value`` as a ``wanted`` JSON type, or ``UNSET`` where that would be a guess."""
    if isinstance(value, str):
        read = _READERS.get(wanted)
        return read(value.strip()) if read else UNSET
    if wanted == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    return UNSET


def _integer(text: str) -> Any:
    return int(text.partition(".")[0]) if re.fullmatch(INTEGER, text) else UNSET


def _number(text: str) -> Any:
    if re.fullmatch(INTEGER, text) and "." not in text:
        return int(text)
    number = float(text) if re.fullmatch(NUMBER, text) else math.inf
    return number if math.isfinite(number) else UNSET


def _boolean(text: str) -> Any:
    return {"true": True, "false": False}.get(text.lower(), UNSET)


def _null(text: str) -> Any:
    return None if text.lower() in ("", "null") else UNSET


def _json(text: str, *, opening: str) -> Any:
    if not text.startswith(opening):
        return UNSET
    try:
        return msgspec.json.decode(text)
    except UNREADABLE:
        return UNSET


_READERS: dict[str, Callable[[str], Any]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "null": _null,
    "array": partial(_json, opening="["),
    "object": partial(_json, opening="{"),
}


def same(one: object, other: object) -> bool:
    """Whether two JSON values are equal; ``true`` is not ``1``."""
    return kind_of(one) == kind_of(other) and one == other


def choose(value: object, options: Sequence[object]) -> Any:
    """The only option that ``value`` can mean, or ``UNSET``.

    Blanks around it, then case, are overlooked, and numbers may be written as strings.
    """
    if kind_of(value) in ("array", "object"):
        return UNSET
    scalars = [option for option in options if kind_of(option) not in ("array", "object")]
    for spelled in (_spelled, lambda item: _spelled(item).casefold()):
        meant = [option for option in scalars if spelled(option) == spelled(value)]
        if len(meant) == 1:
            return meant[0]
    return UNSET


def _spelled(value: object) -> str:
    return value.strip() if isinstance(value, str) else literal(value)


def names_a_path(place: Place) -> bool:
    """Whether the property at ``place`` holds a path, going by its name."""
    name = next((step for step in reversed(place) if isinstance(step, str)), "")
    words = re.findall(WORDS, name)
    return bool(words) and words[-1].lower() in PATH_WORDS

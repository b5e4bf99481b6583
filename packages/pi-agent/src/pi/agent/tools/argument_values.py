"""Converts single argument values without guessing, and reports invalid arguments. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET

from pi.ai.json_text import json_bytes, json_text
from pi.ai.messages import Json
from pi.base.records import UNREADABLE, Record

Location: TypeAlias = tuple[str | int, ...]
"""Names and indexes that lead to a value."""

TYPE_WORDS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "a boolean",
    "null": "null",
    "array": "an array",
    "object": "an object",
}
_KINDS: dict[type, str] = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
    list: "array",
    tuple: "array",
    dict: "object",
}
MAX_LINES = 20
MAX_OPTIONS = 20
MAX_CHARACTERS = 200
"""Characters shown of one string."""
MAX_SHOWN = 4000
"""Characters shown of all arguments."""
DEEPEST_SHOWN = 8

# Not compiled at import: most sessions never need them.
_MSGSPEC_LOCATION = r"(?s)^(.*) - at `(?:key` in `)?\$(.*)`$"
_STEP = r"\.([^.\[]+)|\[(\d+)\]"


class ArgumentIssue(Record):
    """One invalid argument."""

    location: Location
    message: str
    expected: tuple[str, ...] = ()
    """The accepted types or values, if the value is none of them."""
    got: object = None
    """The received value."""


def kind_of(value: object) -> str:
    """The JSON type of a value, with all numbers called ``number``."""
    kind = type(value)
    return _KINDS.get(kind, kind.__name__)


def wrong_type(location: Location, expected: Iterable[str], value: object) -> ArgumentIssue:
    """Make the issue of a wrong type; ``expected`` is types, or values as JSON text."""
    options = tuple(dict.fromkeys(expected))
    if not options:
        return ArgumentIssue(location=location, message="is not accepted here")
    is_exact = any(word not in TYPE_WORDS.values() for word in options)
    is_fraction = isinstance(value, float) and "an integer" in options
    got = literal(value) if is_exact or is_fraction else kind_of(value)
    message = f"must be {_listing(options)} (got {got})"
    return ArgumentIssue(location=location, message=message, expected=options, got=value)


def literal(value: object) -> str:
    """Return a short value as JSON, a long one as its type."""
    if isinstance(value, list | tuple | dict):
        return kind_of(value)
    text = json_text(shortened(value))
    return text if len(text) <= MAX_CHARACTERS + 40 else kind_of(value)


def _listing(options: Sequence[str]) -> str:
    if len(options) > MAX_OPTIONS:
        options = (*options[:MAX_OPTIONS], f"one of {len(options) - MAX_OPTIONS} other values")
    return " or ".join(filter(None, (", ".join(options[:-1]), options[-1])))


def report(tool: str, issues: Sequence[ArgumentIssue], received: Json) -> str:
    """Return the error text for the model: all issues and the received arguments."""
    of_tool = f' for tool "{tool}"' if tool else ""
    lines = [f"  - {_location_text(issue.location)}: {issue.message}" for issue in issues]
    if (more := len(lines) - MAX_LINES) > 0:
        lines[MAX_LINES:] = [f"  - and {more} more"]
    return "\n".join(
        [f"Validation failed{of_tool}:", *lines, "", "Received arguments:", _format_value(received)]
    )


def _location_text(location: Location) -> str:
    return _cut(".".join(map(str, location)), MAX_CHARACTERS) or "arguments"


def _format_value(value: object) -> str:
    text = msgspec.json.format(json_bytes(shortened(value)), indent=2).decode()
    return _cut(text, MAX_SHOWN)


def shortened(value: object, depth: int = 0) -> object:
    """Return a JSON value with long strings, long lists and deep parts truncated, for display."""
    match value:
        case str():
            return _cut(value, MAX_CHARACTERS)
        case list() | tuple() | dict() if depth == DEEPEST_SHOWN and value:
            return "…"
        case list() | tuple():
            items = [shortened(item, depth + 1) for item in value[:MAX_OPTIONS]]
            return items if len(value) <= MAX_OPTIONS else [*items, "…"]
        case dict():
            return {
                _cut(str(name), MAX_CHARACTERS): shortened(item, depth + 1)
                for name, item in list(value.items())[:MAX_OPTIONS]
            } | ({"…": "…"} if len(value) > MAX_OPTIONS else {})
        case None | bool() | int() | float():
            return value
        case _:
            return repr(value)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def decoding_issues(error: Exception) -> list[ArgumentIssue]:
    """Convert a decoding error of msgspec, pydantic or a type's own check to issues."""
    if callable(list_errors := getattr(error, "errors", None)):  # pydantic
        return [
            ArgumentIssue(location=tuple(one["loc"]), message=one["msg"]) for one in list_errors()
        ]
    text, location = str(error), ""
    if match := re.match(_MSGSPEC_LOCATION, text):
        text, location = match.groups()
    named = location.replace("[...]", "")  # msgspec does not say which entry of a dict
    steps = [name or int(index) for name, index in re.findall(_STEP, named)]
    return [ArgumentIssue(location=tuple(steps), message=text.replace("`", ""))]


INTEGER = r"(?a)[+-]?\d{1,30}(?:\.0+)?"
NUMBER = r"(?a)[+-]?\d{1,30}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?"
WORDS = r"[a-z]+|[A-Z][a-z]*"
PATH_WORDS = frozenset(
    {"path", "paths", "file", "files", "filename", "filepath", "dir", "directory", "folder", "cwd"}
)


def has_type(value: object, types: Sequence[str]) -> bool:
    """Whether a value has one of these JSON types without conversion."""
    kind = kind_of(value)
    return kind in types or (kind == "number" and "integer" in types and isinstance(value, int))


def convert(value: object, expected: str) -> Any:
    """Return ``value`` as the JSON type ``expected``, or ``UNSET`` if that would be a guess."""
    if isinstance(value, str):
        read = _READERS.get(expected)
        return read(value.strip()) if read else UNSET
    if expected == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if expected == "string" and kind_of(value) == "number":
        return json_text(value)
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


def json_equal(one: object, other: object) -> bool:
    """Whether two JSON values are equal; ``true`` is not ``1``."""
    return kind_of(one) == kind_of(other) and one == other


def match_option(value: object, options: Sequence[object]) -> Any:
    """Return the only option that ``value`` can mean, or ``UNSET``.

    Surrounding blanks and case are ignored, and numbers may be written as strings.
    """
    if kind_of(value) in ("array", "object"):
        return UNSET
    scalars = [option for option in options if kind_of(option) not in ("array", "object")]
    for spelled in (_spelled, lambda item: _spelled(item).casefold()):
        matching = [option for option in scalars if spelled(option) == spelled(value)]
        if len(matching) == 1:
            return matching[0]
    return UNSET


def _spelled(value: object) -> str:
    return value.strip() if isinstance(value, str) else literal(value)


def names_a_path(location: Location) -> bool:
    """Whether the property at ``location`` holds a path, judged by its name."""
    name = next((step for step in reversed(location) if isinstance(step, str)), "")
    words = re.findall(WORDS, name)
    return bool(words) and words[-1].lower() in PATH_WORDS

"""Compares what two programs report, without what differs from run to run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Shape = dict[str, set[str]]
"""The values that occur at each path of a JSON value."""

VOLATILE = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uuid>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d[.-]\d{3}Z"), "<time>"),
    (re.compile(r"http://127\.0\.0\.1:\d+"), "<server>"),
    (re.compile(r"\b[0-9a-f]{8}\b"), "<id>"),
)
CLOCK = ("timestamp", "durationMs", "since_session_ms", "wall_time_seconds")
"""Names of fields whose values are times."""


def shape_of(value: Any, texts: Mapping[str, str], path: str = "") -> Shape:
    """Return the values of the leaves by path; ``texts`` are replaced in strings, e.g. folders.

    Positions in lists are no part of a path, so that one more event or entry does not move all
    others. A record with ``type`` or ``role`` has it in its path.
    """
    match value:
        case dict():
            shape: Shape = {}
            kind = value.get("type") or value.get("role")
            here = f"{path}<{kind}>" if isinstance(kind, str) else path
            for name, field in value.items():
                # The depth of a tree is no part of a path.
                below = path if name == "children" else f"{here}.{name}"
                _merge(shape, shape_of(field, texts, below))
            return shape or {here: {"{}"}}
        case list():
            shape = {}
            for item in value:
                _merge(shape, shape_of(item, texts, f"{path}[]"))
            return shape or {path: {"[]"}}
        case int() | float() if path.rpartition(".")[2] in CLOCK:
            return {path: {"<number>"}}
        case str():
            for text, name in texts.items():
                value = value.replace(text, name)
            for pattern, name in VOLATILE:
                value = pattern.sub(name, value)
            return {path: {value}}
        case int() | float() if not isinstance(value, bool):
            return {path: {f"{value:g}"}}  # 0 and 0.0 are equal
        case _:
            return {path: {repr(value)}}


def differences(first: Shape, second: Shape) -> dict[str, tuple[set[str], set[str]]]:
    """The paths whose values differ, with the values that only one side has."""
    return {
        path: (
            first.get(path, set()) - second.get(path, set()),
            second.get(path, set()) - first.get(path, set()),
        )
        for path in sorted({*first, *second})
        if first.get(path) != second.get(path)
    }


def _merge(shape: Shape, other: Shape) -> None:
    for path, values in other.items():
        shape.setdefault(path, set()).update(values)

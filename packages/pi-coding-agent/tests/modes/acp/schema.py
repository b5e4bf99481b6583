"""Checks messages against the published schema of the protocol; enough of JSON Schema for it."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

Json = dict[str, Any]

FILE = Path(__file__).with_name("schema.json")
_TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


@cache
def schema() -> Json:
    """The schema."""
    return dict(json.loads(FILE.read_text("utf-8")))


@cache
def by_method(part: str) -> dict[str, str]:
    """The definition of each method, for ``Request``, ``Notification`` or ``Response``."""
    return {
        definition["x-method"]: name
        for name, definition in schema()["$defs"].items()
        if "x-method" in definition and name.endswith(part)
    }


UNSTABLE_RESPONSES = {"session/fork": "NewSessionResponse"}
"""Methods of the draft of the protocol, with the response that they share."""
OUTSIDE = frozenset({"session/steering", "_session/steering"})
"""Methods of harnesses, which no schema has."""
USAGE = ("inputTokens", "outputTokens", "cachedReadTokens", "cachedWriteTokens", "totalTokens")
"""Fields of ``usage`` in the answer to a prompt, which the draft of the protocol has."""


def check(message: Json, methods: dict[Any, str]) -> None:
    """Fails if a message of the agent is not valid; ``methods`` has those of our requests."""
    assert message["jsonrpc"] == "2.0"
    if "method" in message:
        part = "Request" if "id" in message else "Notification"
        name = by_method(part)[message["method"]]
        value = message["params"]
    elif "error" in message:
        name, value = "Error", message["error"]
    else:
        method, value = methods[message["id"]], copy.deepcopy(message["result"])
        if method in OUTSIDE:
            return
        name = UNSTABLE_RESPONSES.get(method) or by_method("Response")[method]
        if method == "initialize":
            assert value["agentCapabilities"]["sessionCapabilities"].pop("fork") == {}
        if method == "session/prompt":
            usage = value.pop("usage")
            assert set(usage) == set(USAGE), usage
            assert all(type(count) is int for count in usage.values()), usage
    problems = list(problems_of(value, {"$ref": f"#/$defs/{name}"}, name))
    assert not problems, (problems, message)


def problems_of(value: Any, rule: Any, path: str) -> Iterator[str]:
    """What is wrong with a value; unknown fields are, too."""
    yield from _violations(value, rule, path)
    allowed = _allowed_fields(rule, value)
    if isinstance(value, dict) and allowed is not None:
        yield from (f"{path}: unknown field {name}" for name in value if name not in allowed)


def _violations(value: Any, rule: Any, path: str) -> Iterator[str]:
    if rule is True or rule == {}:
        return
    if "$ref" in rule:
        yield from _violations(value, _target(rule["$ref"]), path)
    if "type" in rule and not _has_type(value, rule["type"]):
        yield f"{path}: {value!r} is no {rule['type']}"
        return
    yield from _wrong_values(value, rule, path)
    for part in rule.get("allOf", ()):
        yield from _violations(value, part, path)
    for kind in ("anyOf", "oneOf"):
        if kind in rule and not any(_fits(value, part, path) for part in rule[kind]):
            yield f"{path}: {value!r} fits no alternative"
    if isinstance(value, dict):
        yield from _wrong_fields(value, rule, path)
    if isinstance(value, list) and "items" in rule:
        for number, item in enumerate(value):
            yield from problems_of(item, rule["items"], f"{path}[{number}]")


def _wrong_values(value: Any, rule: Json, path: str) -> Iterator[str]:
    if "const" in rule and value != rule["const"]:
        yield f"{path}: {value!r} is not {rule['const']!r}"
    if "enum" in rule and value not in rule["enum"]:
        yield f"{path}: {value!r} is not one of {rule['enum']}"
    if "minimum" in rule and isinstance(value, int | float) and value < rule["minimum"]:
        yield f"{path}: {value!r} is too small"


def _wrong_fields(value: Json, rule: Json, path: str) -> Iterator[str]:
    for name in rule.get("required", ()):
        if name not in value:
            yield f"{path}: {name} is missing"
    for name, inner in rule.get("properties", {}).items():
        if name in value:
            yield from problems_of(value[name], inner, f"{path}.{name}")


def _fits(value: Any, rule: Any, path: str) -> bool:
    return not any(_violations(value, rule, path))


def _has_type(value: Any, kinds: str | list[str]) -> bool:
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        if isinstance(value, bool) and kind in ("integer", "number"):
            continue
        if isinstance(value, _TYPES[kind]):
            return True
    return False


def _allowed_fields(rule: Any, value: Any) -> set[str] | None:
    """The fields that a rule knows; ``None`` if it allows any."""
    if not isinstance(rule, dict):
        return None
    if "$ref" in rule:
        return _allowed_fields(_target(rule["$ref"]), value)
    names = set(rule.get("properties", ()))
    parts = [_allowed_fields(part, value) for part in rule.get("allOf", ())]
    for kind in ("anyOf", "oneOf"):
        parts += [
            _allowed_fields(part, value)
            for part in rule.get(kind, ())
            if not any(_violations(value, part, ""))
        ]
    for part in parts:
        names |= part or set()
    return names or None


def _target(reference: str) -> Json:
    return dict(schema()["$defs"][reference.rpartition("/")[2]])

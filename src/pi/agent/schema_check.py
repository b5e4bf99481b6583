"""Whether a schema can be offered to models at all, told where a tool is made. Pure.

A server refuses the whole request for one bad tool, so a bad one must not get that far. Keywords
that are not known here are nobody's problem and pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pi.agent.json_schema import (
    NAMED,
    SEVERAL,
    SINGLE,
    BadSchema,
    FlatSchemas,
    Schema,
    find,
    inlined,
    types_of,
)
from pi.ai.json_text import json_bytes
from pi.ai.messages import Json

TYPES = frozenset({"string", "integer", "number", "boolean", "null", "array", "object"})


def _names_types(value: Any) -> bool:
    names = [value] if isinstance(value, str) else value
    return _is_text_list(names) and bool(names) and TYPES.issuperset(names)


def _is_text_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and value >= 0


def _is_number(value: Any) -> bool:
    # true and false pass as well: draft 4 has them for exclusiveMinimum
    return isinstance(value, int | float)


RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "type": (_names_types, "must name some of the seven JSON types"),
    "enum": (lambda value: isinstance(value, list) and bool(value), "must list values"),
    "required": (_is_text_list, "must be a list of names"),
    "multipleOf": (lambda value: _is_number(value) and value > 0, "must be a number above 0"),
    **dict.fromkeys(NAMED, (lambda _: False, "must hold schemas by name")),
    **dict.fromkeys(SEVERAL, (lambda _: False, "must be a list of schemas")),
    **dict.fromkeys(("$ref", "pattern", "format"), (_is_text, "must be a string")),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
        (_is_count, "must be a count"),
    ),
    **dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        (_is_number, "must be a number"),
    ),
}
"""What keywords must be where they do not hold schemas in the one right shape."""


def object_schema(schema: Json, *, tool: str = "") -> Json:
    """``schema`` as the schema of a tool's arguments; ``BadSchema`` says what is wrong with it."""
    try:
        json_bytes(schema)
        _Check(schema).whole()
        types = types_of(FlatSchemas(schema).flat(schema))
        if types and "object" not in types:
            raise BadSchema(f"Arguments are an object, but the schema says {types[0]}.")
        whole = inlined(schema) if "$ref" in schema else schema
    except BadSchema as problem:
        raise _refusal(tool, problem.explain()) from problem
    except RecursionError as problem:
        raise _refusal(tool, "It holds itself; use $ref for that.") from problem
    except (TypeError, ValueError) as problem:
        raise _refusal(tool, f"It is not JSON: {problem}.") from problem
    return whole if types else {"type": "object", **whole}


def _refusal(tool: str, why: str) -> BadSchema:
    whose = f'Tool "{tool}"' if tool else "The tool"
    return BadSchema(f"{whose} cannot be offered to models, its schema is broken. {why}")


class _Check:
    """Looks at every schema of one document."""

    def __init__(self, root: Json) -> None:
        self._root = root
        self._seen: dict[int, Json] = {}
        self._ending: set[int] = set()

    def whole(self) -> None:
        """Raise ``BadSchema`` for the first thing that is wrong."""
        self._schema(self._root, "")
        for schema in self._seen.values():
            self._ends(schema, "", ())

    def _schema(self, schema: Any, where: str) -> None:
        if isinstance(schema, bool) and where:
            return
        if not isinstance(schema, dict):
            raise _wrong(where, "must be a schema", schema)
        if id(schema) in self._seen:
            return
        self._seen[id(schema)] = schema
        for key, value in schema.items():
            self._keyword(key, value, f"{where}.{key}" if where else key)
        if "$ref" in schema:
            self._schema(find(self._root, schema["$ref"]), schema["$ref"])

    def _keyword(self, key: str, value: Any, where: str) -> None:
        match value:
            case dict() if key in NAMED:
                for name, part in value.items():
                    self._schema(part, f"{where}.{name}")
            case [_, *_] if key in SEVERAL or key == "items":
                for index, part in enumerate(value):
                    self._schema(part, f"{where}.{index}")
            case _ if key in SINGLE:
                self._schema(value, where)
            case _ if key in RULES and not RULES[key][0](value):
                raise _wrong(where, RULES[key][1], value)

    def _ends(self, schema: Schema, reference: str, inside: tuple[int, ...]) -> None:
        """Refuse a schema that applies itself to the same value, which would never end."""
        if isinstance(schema, bool) or id(schema) in self._ending:
            return
        if id(schema) in inside:
            raise BadSchema(f"{reference} leads back to itself.")
        inside = (*inside, id(schema))
        for part in (*schema.get("allOf", ()), *schema.get("anyOf", ()), *schema.get("oneOf", ())):
            self._ends(part, reference, inside)
        if "$ref" in schema:
            self._ends(find(self._root, schema["$ref"]), schema["$ref"], inside)
        self._ending.add(id(schema))


def _wrong(where: str, expected: str, value: Any) -> BadSchema:
    shown = repr(value)
    return BadSchema(f"{where or 'It'} {expected}, not {shown if len(shown) < 80 else '…'}.")

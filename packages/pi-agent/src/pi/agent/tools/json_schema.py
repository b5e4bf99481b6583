"""JSON Schema documents: subschemas, references, and the check that a schema can be sent. Pure.

A provider rejects the whole request for one invalid tool, so schemas are checked where a tool is
made. Unknown keywords are not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from pi.ai.json_text import json_bytes
from pi.ai.messages import Json
from pi.base.errors import PiError

Schema: TypeAlias = "Json | bool"
"""``True`` accepts anything, ``False`` nothing."""

NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keywords that hold schemas by name: the names are not keywords."""
SEVERAL = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
SINGLE = frozenset(
    {"items", "additionalItems", "additionalProperties", "contains", "propertyNames"}
    | {"not", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties"}
)
MAX_APPLIED = 5_000
"""Maximum number of schemas that apply to one value: nested alternatives double at each level."""
MAX_INLINED = 500
"""Maximum number of inlined references: mutually recursive types multiply."""


class BadSchema(PiError):
    """A schema that cannot be sent to a model."""


def types_of(schema: Json) -> tuple[str, ...]:
    """Return the types that a schema without references names; empty if it accepts all types."""
    named = schema.get("type", ())
    types = (named,) if isinstance(named, str) else tuple(named)
    return (*types, "null") if types and schema.get("nullable") is True else types


def find(root: Json, reference: str) -> Schema:
    """Return the schema that a ``$ref`` names."""
    if reference != "#" and not reference.startswith("#/"):
        raise BadSchema(
            f"{reference} cannot be resolved.", hint="References must look like #/$defs/Name."
        )
    node: Any = root
    for step in reference.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, list) and name.isdecimal() and int(name) < len(node):
            node = node[int(name)]
        else:
            node = node.get(name) if isinstance(node, dict) else None
    if not isinstance(node, dict | bool):
        raise BadSchema(f"{reference} does not refer to a schema.")
    return node


def rebuilt(schema: Json, change: Callable[[Schema], Schema]) -> Json:
    """Return a copy of ``schema`` with ``change`` applied to its direct subschemas."""

    def inside(key: str, value: Any) -> Any:
        match value:
            case dict() if key in NAMED:
                return {name: change(part) for name, part in value.items()}
            case list() if key in SEVERAL or key == "items":
                return [change(part) for part in value]
            case dict() if key in SINGLE:
                return change(value)
            case _:
                return value

    return {key: inside(key, value) for key, value in schema.items()}


def inlined(root: Json, *, without: frozenset[str] = frozenset()) -> Json:
    """Return ``root`` with references inlined and the keywords ``without`` removed.

    A recursive type stays a reference to a definition in ``$defs``.
    """
    return _Inliner(root, without | {"$defs", "definitions"}).document()


class _Inliner:
    """Inlines the references of one document."""

    def __init__(self, root: Json, without: frozenset[str]) -> None:
        self._root = root
        self._without = without
        self._open: list[str] = []
        """The references being resolved."""
        self._names: dict[str, str] = {}
        """References to recursive types, and their names in ``$defs``."""
        self._remaining = MAX_INLINED

    def document(self) -> Json:
        """Return the inlined document."""
        document = self._inline(self._root)
        assert isinstance(document, dict)
        definitions: Json = {}
        while len(definitions) < len(self._names):  # writing a definition may add another
            reference, name = list(self._names.items())[len(definitions)]
            self._open = [reference]
            definitions[name] = self._inline(find(self._root, reference))
        return {**document, "$defs": definitions} if definitions else document

    def _inline(self, schema: Schema) -> Schema:
        if isinstance(schema, bool):
            return schema
        keywords = {key: part for key, part in schema.items() if key not in self._without}
        if "$ref" not in keywords:
            return rebuilt(keywords, self._inline)
        return self._resolved(keywords.pop("$ref"), keywords)

    def _resolved(self, reference: str, keywords: Json) -> Schema:
        if reference in self._open:
            return {"$ref": f"#/$defs/{self._name(reference)}", **keywords}
        if not self._remaining:
            raise BadSchema(f"The schema holds more than {MAX_INLINED} references when unfolded.")
        self._remaining -= 1
        self._open.append(reference)
        target = find(self._root, reference)
        schema = self._inline({**target, **keywords} if isinstance(target, dict) else target)
        self._open.pop()
        return schema

    def _name(self, reference: str) -> str:
        if reference not in self._names:
            name = reference.rpartition("/")[2] if "/" in reference else "root"
            while name in self._names.values():
                name += "_"
            self._names[reference] = name
        return self._names[reference]


class FlatSchemas:
    """The schemas of one valid document with references resolved and ``allOf`` merged.

    Conflicting parts of an ``allOf`` stay in ``allOf`` and are applied in turn. The properties of
    all parts are merged, so that a property of one part is not unknown to another.
    """

    def __init__(self, root: Json) -> None:
        self._root = root
        self._flat: dict[int, tuple[Schema, Json]] = {}
        """By identity; holds the schema too, so that its id is not reused."""

    def flat(self, schema: Schema) -> Json:
        """Return ``schema`` without references."""
        cached = self._flat.get(id(schema))
        if cached is None:
            cached = self._flat[id(schema)] = schema, _merged(self._parts(schema))
        return cached[1]

    def _parts(self, schema: Schema) -> Iterator[Json]:
        """Yield the groups of keywords that all apply, the nearest first."""
        if isinstance(schema, bool):
            yield {} if schema else {"enum": []}
            return
        yield {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
        if "$ref" in schema:
            yield from self._parts(find(self._root, schema["$ref"]))
        for part in schema.get("allOf", ()):
            yield from self._parts(part)


def _merged(parts: Iterator[Json]) -> Json:
    merged: Json = {}
    conflicting: list[Json] = []
    for part in parts:
        conflicts: Json = {}
        for key, value in part.items():
            match key:
                case _ if key not in merged:
                    merged[key] = value
                case "properties":
                    merged[key] = _united(merged[key], value)
                case "required":
                    merged[key] = [*merged[key], *value]
                case "additionalProperties":
                    merged[key] = merged[key] if value is not False else False
                case _ if merged[key] != value:
                    conflicts[key] = value
        if conflicts:
            conflicting.append(conflicts)
    return {**merged, "allOf": conflicting} if conflicting else merged


def _united(some: Json, more: Json) -> Json:
    both = {name: {"allOf": [some[name], more[name]]} for name in some if name in more}
    return {**some, **more, **both}


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
    # true and false are accepted: draft 4 has a boolean exclusiveMinimum
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
"""Expected values of keywords that do not hold schemas."""


def checked_object_schema(schema: Json, *, tool: str = "") -> Json:
    """Return ``schema`` as the schema of a tool's arguments; raises ``BadSchema``."""
    try:
        json_bytes(schema)
        _Check(schema).run()
        types = types_of(FlatSchemas(schema).flat(schema))
        if types and "object" not in types:
            raise BadSchema(f"Arguments are an object, but the schema says {types[0]}.")
        document = inlined(schema) if "$ref" in schema else schema
    except BadSchema as error:
        raise _refusal(tool, error.explain()) from error
    except RecursionError as error:
        raise _refusal(tool, "It contains itself; use $ref for that.") from error
    except (TypeError, ValueError) as error:
        raise _refusal(tool, f"It is not JSON: {error}.") from error
    return document if types else {"type": "object", **document}


def _refusal(tool: str, reason: str) -> BadSchema:
    subject = f'Tool "{tool}"' if tool else "The tool"
    return BadSchema(f"{subject} cannot be sent to models: invalid schema. {reason}")


class _Check:
    """Checks all schemas of one document."""

    def __init__(self, root: Json) -> None:
        self._root = root
        self._seen: dict[int, Json] = {}
        self._applied: dict[int, int] = {}
        """How many schemas apply to one value with a schema, by its identity."""

    def run(self) -> None:
        """Raise ``BadSchema`` for the first error."""
        self._schema(self._root, "")
        for schema in self._seen.values():
            self._count_applied(schema, "", ())

    def _schema(self, schema: Any, path: str) -> None:
        if isinstance(schema, bool) and path:
            return
        if not isinstance(schema, dict):
            raise _wrong(path, "must be a schema", schema)
        if id(schema) in self._seen:
            return
        self._seen[id(schema)] = schema
        for key, value in schema.items():
            self._keyword(key, value, f"{path}.{key}" if path else key)
        if "$ref" in schema:
            self._schema(find(self._root, schema["$ref"]), schema["$ref"])

    def _keyword(self, key: str, value: Any, path: str) -> None:
        match value:
            case dict() if key in NAMED:
                for name, part in value.items():
                    self._schema(part, f"{path}.{name}")
            case [_, *_] if key in SEVERAL or key == "items":
                for index, part in enumerate(value):
                    self._schema(part, f"{path}.{index}")
            case _ if key in SINGLE:
                self._schema(value, path)
            case _ if key in RULES and not RULES[key][0](value):
                raise _wrong(path, RULES[key][1], value)

    def _count_applied(self, schema: Schema, reference: str, inside: tuple[int, ...]) -> int:
        """Return how many schemas apply to one value.

        Raises ``BadSchema`` for a schema that applies itself or too many: it would never end.
        """
        if isinstance(schema, bool):
            return 1
        if (cached := self._applied.get(id(schema))) is not None:
            return cached
        if id(schema) in inside:
            raise BadSchema(f"{reference} refers to itself.")
        inside = (*inside, id(schema))
        parts = (*schema.get("allOf", ()), *schema.get("anyOf", ()), *schema.get("oneOf", ()))
        count = 1 + sum(self._count_applied(part, reference, inside) for part in parts)
        if "$ref" in schema:
            target = find(self._root, schema["$ref"])
            count += self._count_applied(target, schema["$ref"], inside)
        if count > MAX_APPLIED:
            raise BadSchema(f"More than {MAX_APPLIED:,} schemas apply to one value.")
        self._applied[id(schema)] = count
        return count


def _wrong(path: str, expected: str, value: Any) -> BadSchema:
    text = repr(value)
    return BadSchema(f"{path or 'It'} {expected}, not {text if len(text) < 80 else '…'}.")

"""Schemas of tools as Gemini accepts them: JSON Schema, or a subset of OpenAPI. Pure."""

from __future__ import annotations

from typing import Any

from pi.ai.messages import (
    Json,
)

MAX_INLINED = 500
"""Limit of references that are inlined per document: types that refer to each other multiply."""

_NAMED = frozenset({"properties", "patternProperties", "dependentSchemas"})
"""Keywords whose value holds schemas by name: their keys are not keywords."""

_SINGLE = frozenset({"items", "contains", "not", "if", "then", "else", "propertyNames"})

_SEVERAL = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})

_WORDS = frozenset({"type", "required"})
"""Keywords whose value is a string or a list of strings."""

_NOTES = frozenset({"definitions", "deprecated", "examples", "readOnly", "writeOnly"})
"""Annotations without effect; all that begin with ``$`` are dropped with them."""

_SUPPORTED = frozenset(
    {
        *("title", "description", "default", "format", "nullable"),
        *("minimum", "maximum", "minLength", "maxLength", "pattern"),
        *("minItems", "maxItems", "minProperties", "maxProperties"),
    }
)
"""Keywords whose values are copied."""

_ABOUT_ALL = frozenset({"title", "description", "anyOf", "oneOf"})
"""Keywords that are not repeated where a schema of several types becomes one for each."""


def json_schema(schema: Json) -> Json:
    """Return ``schema`` for ``parametersJsonSchema``, with its references inlined.

    The field takes JSON Schema, but servers fail on references, boolean schemas and enums of other
    values than strings and numbers, and one such tool fails the whole request. So every schema
    inside the result is an object, and every keyword has a value of the right type.
    """
    return _Inliner(schema).inlined(schema)


class _Inliner:
    """Inlines the references of one document."""

    def __init__(self, root: Json) -> None:
        self._root = root
        self._open: list[str] = []
        """The references being followed: a repeated one is a recursive type."""
        self._remaining = MAX_INLINED

    def inlined(self, schema: Json) -> Json:
        """Return ``schema`` as it is sent."""
        if isinstance(ref := schema.get("$ref"), str):
            return self._resolved(ref, {key: schema[key] for key in schema if key != "$ref"})
        inlined: Json = {}
        for key, value in schema.items():
            if key in ("enum", "const"):
                inlined.update(_enum([value] if key == "const" else value, schema))
            elif not key.startswith("$") and key not in _NOTES:
                keyword = self._keyword(key, value)
                if keyword is not None:
                    inlined[key] = keyword
        return inlined

    def _resolved(self, ref: str, siblings: Json) -> Json:
        """Return the target of ``ref``, overlaid by the keywords beside it; at the limit any
        object."""
        if ref in self._open or not self._remaining:
            return {"type": "object", **self.inlined(siblings)}
        self._remaining -= 1
        self._open.append(ref)
        inlined = self.inlined({**self._target(ref), **siblings})
        self._open.pop()
        return inlined

    def _target(self, ref: str) -> Json:
        """Return the schema at a local reference; an empty one if there is none."""
        value: Any = self._root if ref.startswith("#") else None
        for step in ref.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            value = value.get(name) if isinstance(value, dict) else None
        return value if isinstance(value, dict) else {}

    def _keyword(self, key: str, value: Any) -> Any:
        """Return a keyword's value with plain schemas inside it; ``None`` drops the keyword."""
        if key in _NAMED:
            named = value.items() if isinstance(value, dict) else ()
            inlined = {name: self._subschema(inner) for name, inner in named}
            return {name: inner for name, inner in inlined.items() if inner is not None}
        if key in _SEVERAL:
            several = map(self._subschema, value if isinstance(value, list) else ())
            return [inner for inner in several if inner is not None] or None
        if key in _SINGLE or (key == "additionalProperties" and isinstance(value, dict)):
            return self._subschema(value)
        if key in _WORDS and isinstance(value, list):
            return [word for word in value if isinstance(word, str)] or None
        if key in _WORDS:
            return value if isinstance(value, str) else None
        return value

    def _subschema(self, schema: Any) -> Json | None:
        """``true`` becomes a schema that allows anything, ``false`` none at all."""
        if isinstance(schema, dict):
            return self.inlined(schema)
        return {} if schema is True else None


def _enum(values: Any, schema: Json) -> Json:
    """Return the strings and numbers of an enum; without any, at least the type of its values."""
    values = values if isinstance(values, list) else []
    if supported := [value for value in values if _is_string_or_number(value)]:
        return {"enum": supported}
    if "type" not in schema and any(isinstance(value, bool) for value in values):
        return {"type": "boolean"}
    return {}


def _is_string_or_number(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def openapi_schema(schema: Json) -> Json:
    """Return ``schema`` for the older field ``parameters``.

    It takes a subset of OpenAPI 3.0 and fails the whole request over one unknown keyword, so only
    known ones are written.
    """
    return _reduced(json_schema(schema))


def _reduced(schema: Json) -> Json:
    schema = _merged(schema)
    kinds = _kinds(schema)
    arms = _arms(schema)
    choices = [arm for arm in arms if _kinds(arm) != ["null"]]
    reduced = {key: value for key, value in schema.items() if key in _SUPPORTED}
    if "null" in kinds or len(choices) < len(arms):
        reduced["nullable"] = True
    if len(choices) == 1:
        return {**_reduced(choices[0]), **reduced}
    if choices:
        return {**reduced, "anyOf": [_reduced(arm) for arm in choices]}
    kind = next((kind for kind in kinds if kind != "null"), "")
    return {**reduced, **_value(kind, schema)}


def _value(kind: str, schema: Json) -> Json:
    """Return the part of a schema that depends on its one type."""
    properties, enum = schema.get("properties"), schema.get("enum")
    if kind == "array":
        items = schema.get("items") or {"type": "string"}  # an array without items is rejected
        return {"type": "ARRAY", "items": _reduced(items)}
    if kind == "object" or (properties and not kind):
        return {"type": "OBJECT", **_properties(properties or {}, schema.get("required") or [])}
    if enum and all(isinstance(value, str) for value in enum):
        return {"type": "STRING", "enum": enum}
    return {"type": kind.upper()} if kind else {}


def _properties(properties: Json, required: list[str]) -> Json:
    reduced: Json = {}
    if properties:
        reduced["properties"] = {name: _reduced(schema) for name, schema in properties.items()}
    if present := [name for name in required if name in properties]:
        reduced["required"] = present
    return reduced


def _merged(schema: Json) -> Json:
    """Return ``schema`` with the schemas of ``allOf`` merged."""
    if "allOf" not in schema:
        return schema
    merged: Json = {}
    for part in (*schema["allOf"], {key: schema[key] for key in schema if key != "allOf"}):
        for key, value in _merged(part).items():
            before = merged.get(key)
            if key == "properties" and before:
                value = {**before, **value}
            elif key == "required" and before:
                value = [*before, *value]
            merged[key] = value
    return merged


def _kinds(schema: Json) -> list[str]:
    kind = schema.get("type", [])
    return [kind] if isinstance(kind, str) else kind


def _arms(schema: Json) -> list[Json]:
    """Return the alternatives of a schema: the subset has neither oneOf nor several types."""
    arms: list[Json] = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    kinds = _kinds(schema)
    if arms or len(kinds) < 2 or kinds == ["null"]:
        return arms
    alone = {key: value for key, value in schema.items() if key not in _ABOUT_ALL}
    return [{**alone, "type": kind} for kind in kinds]

"""The schema of a tool's arguments as ``parameters`` takes it. Pure; refuses nothing.

It is the older way to declare tools. The field takes a subset of OpenAPI 3.0 and fails the whole
request over one keyword that it does not know, so only what it knows is written.
"""

from __future__ import annotations

from pi.ai.messages import Json
from pi.ai.wire.google_generate.schema import json_schema

_KEPT = frozenset(
    {
        *("title", "description", "default", "format", "nullable"),
        *("minimum", "maximum", "minLength", "maxLength", "pattern"),
        *("minItems", "maxItems", "minProperties", "maxProperties"),
    }
)
"""Keywords whose values stay as they are."""
_ABOUT_ALL = frozenset({"title", "description", "anyOf", "oneOf"})
"""Keywords that are not repeated where a schema of several types becomes one for each."""


def openapi_schema(schema: Json) -> Json:
    """``schema`` as far as the subset goes."""
    return _written(json_schema(schema))


def _written(schema: Json) -> Json:
    schema = _merged(schema)
    kinds = _kinds(schema)
    arms = _arms(schema)
    choices = [arm for arm in arms if _kinds(arm) != ["null"]]
    written = {key: value for key, value in schema.items() if key in _KEPT}
    if "null" in kinds or len(choices) < len(arms):
        written["nullable"] = True
    if len(choices) == 1:
        return {**_written(choices[0]), **written}
    if choices:
        return {**written, "anyOf": [_written(arm) for arm in choices]}
    kind = next((kind for kind in kinds if kind != "null"), "")
    return {**written, **_value(kind, schema)}


def _value(kind: str, schema: Json) -> Json:
    """The part of a schema that depends on its one type."""
    properties, enum = schema.get("properties"), schema.get("enum")
    if kind == "array":
        items = schema.get("items") or {"type": "string"}  # a list of nothing is refused
        return {"type": "ARRAY", "items": _written(items)}
    if kind == "object" or (properties and not kind):
        return {"type": "OBJECT", **_properties(properties or {}, schema.get("required") or [])}
    if enum and all(isinstance(value, str) for value in enum):
        return {"type": "STRING", "enum": enum}
    return {"type": kind.upper()} if kind else {}


def _properties(properties: Json, required: list[str]) -> Json:
    written: Json = {}
    if properties:
        written["properties"] = {name: _written(each) for name, each in properties.items()}
    if known := [name for name in required if name in properties]:
        written["required"] = known
    return written


def _merged(schema: Json) -> Json:
    """``schema`` with the schemas that must all hold laid over each other."""
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
    """What a schema chooses from: that exactly one arm holds cannot be said, nor several types."""
    arms: list[Json] = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    kinds = _kinds(schema)
    if arms or len(kinds) < 2 or kinds == ["null"]:
        return arms
    alone = {key: value for key, value in schema.items() if key not in _ABOUT_ALL}
    return [{**alone, "type": kind} for kind in kinds]

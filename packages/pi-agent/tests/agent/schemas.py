"""Random JSON Schemas, values that fit them, and values that may not."""

from __future__ import annotations

import string
from typing import Any

from hypothesis import strategies as st

from pi.agent.tools.json_schema import find
from pi.ai.messages import Json

NAMES = st.sampled_from("abcde")
WORDS = st.text(string.ascii_letters + string.digits + " _-é漢", min_size=1, max_size=8)
NUMBERS = st.integers(-1000, 1000) | st.floats(-1000, 1000, allow_nan=False)
SCALARS: st.SearchStrategy[Any] = st.none() | st.booleans() | NUMBERS | WORDS
WRITTEN = st.sampled_from(["1", "2.0", "true", "null", "[]", "{}", '{"a": 1}', "[1, {}]", "A\n"])
"""Values of other types, as models write them."""

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | WRITTEN,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES | st.text(), inner),
    max_leaves=12,
)


def _bounds(low: str, high: str) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries(
        {}, optional={low: st.integers(0, 3), high: st.integers(5, 9)}
    ) | st.just({})


_LEAVES: st.SearchStrategy[Json] = st.one_of(
    st.just({}),
    st.just({"type": "boolean"}),
    st.just({"type": "null"}),
    st.just({"type": ["string", "null"]}),
    _bounds("minLength", "maxLength").map(lambda bounds: {"type": "string", **bounds}),
    _bounds("minimum", "maximum").map(lambda bounds: {"type": "integer", **bounds}),
    _bounds("minimum", "exclusiveMaximum").map(lambda bounds: {"type": "number", **bounds}),
    st.lists(SCALARS, min_size=1, max_size=4).map(lambda options: {"enum": options}),
    SCALARS.map(lambda value: {"const": value}),
    st.just({"$ref": "#/$defs/leaf"}),
    st.just({"$ref": "#/$defs/tree"}),
)


@st.composite
def _objects(draw: st.DrawFn, inner: st.SearchStrategy[Json]) -> Json:
    properties = draw(st.dictionaries(NAMES, inner, max_size=4))
    required = [name for name in properties if draw(st.booleans())]
    extra = draw(st.sampled_from([{}, {"additionalProperties": False}]))
    return {"type": "object", "properties": properties, "required": required, **extra}


def _larger(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.one_of(
        _objects(inner),
        inner.map(lambda items: {"type": "array", "items": items, "maxItems": 9}),
        st.lists(inner, min_size=1, max_size=3).map(
            lambda items: {"type": "array", "prefixItems": items, "minItems": len(items)}
        ),
        st.lists(inner, min_size=1, max_size=3).map(lambda arms: {"anyOf": arms}),
        st.lists(inner, min_size=1, max_size=2).map(lambda arms: {"oneOf": arms}),
        inner.map(lambda part: {"allOf": [part, {"description": "the same again"}]}),
    )


_TREE: Json = {
    "type": "object",
    "properties": {"a": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
}


@st.composite
def documents(draw: st.DrawFn) -> Json:
    """A schema of arguments with references, one of them to a recursive type."""
    root = draw(_objects(st.recursive(_LEAVES, _larger, max_leaves=8)))
    return {**root, "$defs": {"leaf": {"type": "integer"}, "tree": _TREE}}


def values_of(schema: Json, root: Json) -> st.SearchStrategy[Any]:
    """Values that fit ``schema`` as they are."""
    match schema:
        case {"$ref": str(reference)}:
            target = find(root, reference)
            assert isinstance(target, dict)
            return values_of(target, root)
        case {"anyOf": arms} | {"oneOf": arms}:
            return st.one_of([values_of(arm, root) for arm in arms])
        case {"allOf": [part, *_]}:
            return values_of(part, root)
        case {"type": "object"}:
            return _object_values(schema, root)
        case {"type": "array"}:
            return _array_values(schema, root)
        case _:
            return _scalar_values(schema)


def _scalar_values(schema: Json) -> st.SearchStrategy[Any]:
    match schema:
        case {"enum": options}:
            return st.sampled_from(options)
        case {"const": value}:
            return st.just(value)
        case {"type": "string"}:
            least = max(1, schema.get("minLength", 1))
            return st.text(
                string.ascii_letters, min_size=least, max_size=schema.get("maxLength", 9)
            )
        case {"type": "integer"}:
            return st.integers(schema.get("minimum"), schema.get("maximum"))
        case {"type": "number"}:
            return st.floats(schema.get("minimum", -9), schema.get("exclusiveMaximum", 9) - 0.5)
        case _:
            return _BY_TYPE[str(schema.get("type"))]


_BY_TYPE: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "null": st.none(),
    "['string', 'null']": WORDS | st.none(),
    "None": SCALARS,
}


def _object_values(schema: Json, root: Json) -> st.SearchStrategy[Json]:
    properties = schema["properties"]
    required = schema.get("required", [])
    # built when drawn: a recursive type would never end otherwise
    parts = {
        name: st.deferred(lambda part=part: values_of(part, root))  # type: ignore[misc]
        for name, part in properties.items()
    }
    return st.fixed_dictionaries(
        {name: parts[name] for name in parts if name in required},
        optional={name: parts[name] for name in parts if name not in required},
    )


def _array_values(schema: Json, root: Json) -> st.SearchStrategy[list[Any]]:
    if "prefixItems" in schema:
        return st.tuples(*(values_of(part, root) for part in schema["prefixItems"])).map(list)
    return st.lists(st.deferred(lambda: values_of(schema["items"], root)), max_size=3)

from __future__ import annotations

import json

import pytest
from hypothesis import given

from pi.ai.messages import Json
from pi.ai.wire.google_generate.schemas import MAX_INLINED, json_schema
from tests.ai.odd_schemas import odd_schemas, of


def test_a_plain_schema_stays_as_it_is() -> None:
    schema = {
        "type": "object",
        "title": "Edit",
        "properties": {
            "path": {"type": "string", "description": "where", "default": "."},
            "lines": {"type": "array", "items": {"type": "integer", "minimum": 1}, "maxItems": 3},
            "mode": {"enum": ["a", "b"]},
            "size": {"type": "integer", "enum": [1, 2]},
            "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["path"],
        "additionalProperties": False,
    }

    assert json_schema(schema) == schema


@pytest.mark.behaviour("google-schemas-are-converted")
def test_references_are_inlined_and_definitions_dropped() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:x",
        "$defs": {"Place": of(x={"$ref": "#/$defs/Number"}), "Number": {"type": "number"}},
        "definitions": {"a/b": {"type": "string"}},
        **of(
            at={"$ref": "#/$defs/Place", "description": "here"},
            name={"$ref": "#/definitions/a~1b"},
            lost={"$ref": "#/$defs/Nowhere"},
            foreign={"$ref": "https://example.test/schema.json"},
        ),
    }

    assert json_schema(schema) == of(
        at={**of(x={"type": "number"}), "description": "here"},
        name={"type": "string"},
        lost={},
        foreign={},
    )


@pytest.mark.behaviour("google-schemas-are-converted")
def test_a_recursive_type_is_cut_off_at_the_first_repetition() -> None:
    tree = of(children={"type": "array", "items": {"$ref": "#/$defs/Tree"}})

    schema = json_schema({"$defs": {"Tree": tree}, **of(root={"$ref": "#/$defs/Tree"})})

    inner = {"type": "array", "items": {"type": "object"}}
    assert schema == of(root=of(children=inner))


def test_mutually_recursive_types_are_inlined_up_to_a_limit() -> None:
    names = [f"T{number}" for number in range(12)]
    every = of(**{name: {"$ref": f"#/$defs/{name}"} for name in names})

    schema = json_schema({"$defs": dict.fromkeys(names, every), **every})

    assert json.dumps(schema).count('"properties"') <= MAX_INLINED + 1


@pytest.mark.behaviour("google-schemas-are-converted")
@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        (of(any=True, none=False), of(any={})),
        ({"type": "array", "items": True}, {"type": "array", "items": {}}),
        ({"anyOf": [True, {"type": "string"}, False]}, {"anyOf": [{}, {"type": "string"}]}),
        ({"anyOf": [False]}, {}),
        ({"type": "string", "not": False}, {"type": "string"}),
        ({"const": "x"}, {"enum": ["x"]}),
        ({"enum": ["a", None, 3]}, {"enum": ["a", 3]}),
        ({"enum": [True, False]}, {"type": "boolean"}),
        ({"const": None, "type": "null"}, {"type": "null"}),
        ({"enum": "odd"}, {}),
        ({"type": "string", "examples": ["x"], "deprecated": True}, {"type": "string"}),
        (of(**{"$schema": {"type": "string"}, "examples": {}}),) * 2,
    ],
)
def test_unsupported_keywords_are_converted_or_dropped(schema: Json, sent: Json) -> None:
    assert json_schema(schema) == sent


@pytest.mark.behaviour("bad-schema-is-isolated")
@given(odd_schemas())
def test_converting_any_schema_twice_changes_nothing(schema: Json) -> None:
    assert json_schema(json_schema(schema)) == json_schema(schema)

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from pi.agent.tools.json_schema import BadSchema, checked_object_schema
from pi.ai.messages import Json
from tests.agent.schemas import documents, json_values


def test_a_schema_that_names_no_type_describes_an_object() -> None:
    assert checked_object_schema({}) == {"type": "object"}
    assert checked_object_schema({"properties": {}}) == {"type": "object", "properties": {}}


def test_a_good_schema_is_left_as_it_is() -> None:
    schema: Json = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": ["object", "null"],
        "properties": {
            "a": {"type": "array", "items": [{"type": "string"}], "x-mine": {"type": "?"}},
            "b": {"minimum": 1, "exclusiveMinimum": True, "pattern": r"\p{L}"},
            "c": {"$ref": "#/components/C"},
        },
        "additionalProperties": False,
        "components": {"C": {"properties": {"c": {"$ref": "#/components/C"}}}},
    }
    assert checked_object_schema(schema) is schema


def test_a_reference_at_the_root_is_replaced_by_its_target() -> None:
    schema = {"$ref": "#/definitions/A", "definitions": {"A": {"type": "object", "title": "A"}}}
    assert checked_object_schema(schema) == {"type": "object", "title": "A"}


@pytest.mark.behaviour("bad-schema-is-isolated", "bad-registrations-are-refused")
@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (None, "It must be a schema, not None."),
        (True, "It must be a schema, not True."),
        ([], "It must be a schema, not []."),
        ({"type": "string"}, "Arguments are an object, but the schema says string."),
        ({"properties": {"a": {"type": "text"}}}, "properties.a.type must name some of the seven"),
        ({"properties": {"a": {"type": []}}}, "properties.a.type must name some of the seven"),
        ({"properties": {"a": {"type": [{}]}}}, "properties.a.type must name some of the seven"),
        ({"properties": {"a": "string"}}, "properties.a must be a schema, not 'string'."),
        ({"properties": ["a"]}, "properties must hold schemas by name, not ['a']."),
        ({"required": "a"}, "required must be a list of names, not 'a'."),
        ({"required": [1]}, "required must be a list of names, not [1]."),
        ({"items": 5}, "items must be a schema, not 5."),
        ({"anyOf": []}, "anyOf must be a list of schemas, not []."),
        ({"anyOf": [{"enum": []}]}, "anyOf.0.enum must list values, not []."),
        ({"properties": {"a": {"minLength": -1}}}, "properties.a.minLength must be a count"),
        ({"minimum": "1"}, "minimum must be a number, not '1'."),
        ({"multipleOf": 0}, "multipleOf must be a number above 0, not 0."),
        ({"pattern": 5}, "pattern must be a string, not 5."),
        ({"$ref": 5}, "$ref must be a string, not 5."),
        ({"$ref": "#/$defs/A"}, "#/$defs/A does not refer to a schema."),
        ({"items": {"$ref": "a.json"}}, "a.json cannot be resolved. References must look like"),
        ({"$ref": "#/x", "x": {"allOf": "A"}}, "#/x.allOf must be a list of schemas, not 'A'."),
        ({"$defs": {"A": {"$ref": "#/$defs/A"}}}, "#/$defs/A refers to itself."),
        ({"allOf": [{"$ref": "#"}]}, "# refers to itself."),
        (
            {"$ref": "#/$defs/A", "$defs": {"A": {"anyOf": [True, {"$ref": "#/$defs/A"}]}}},
            "#/$defs/A refers to itself.",
        ),
        ({"properties": {"a": {"type": int}}}, "It is not JSON: "),
        ({"required": "x" * 100}, "required must be a list of names, not …."),
    ],
)
def test_a_broken_schema_is_refused_with_the_place_and_the_reason(schema: Any, why: str) -> None:
    with pytest.raises(BadSchema) as refusal:
        checked_object_schema(schema, tool="mine")
    head = 'Tool "mine" cannot be sent to models: invalid schema. '
    assert refusal.value.message.startswith(head + why)


def test_a_schema_that_contains_itself_is_rejected() -> None:
    schema: Json = {}
    schema["items"] = schema
    with pytest.raises(
        BadSchema, match=r"^The tool cannot .* It contains itself; use \$ref for that\.$"
    ):
        checked_object_schema(schema)


@settings(max_examples=50)
@given(documents())
def test_every_sound_schema_is_accepted(schema: Json) -> None:
    assert checked_object_schema(schema) is schema


@given(json_values)
def test_any_other_value_raises_at_most_bad_schema(value: Any) -> None:
    for schema in (
        value,
        {"properties": value},
        {"type": value, "$ref": value},
        {"anyOf": [value]},
    ):
        try:
            checked_object_schema(schema)
        except BadSchema:
            continue

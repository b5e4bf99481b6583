from __future__ import annotations

import json

import pytest
from hypothesis import given

from pi.ai.messages import Json
from pi.ai.wire.google_generate.schemas import openapi_schema
from tests.ai.odd_schemas import odd_schemas, of


@pytest.mark.behaviour("google-schemas-are-converted")
@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        ({"type": "string", "format": "date-time"}, {"type": "STRING", "format": "date-time"}),
        ({"type": ["string", "null"]}, {"type": "STRING", "nullable": True}),
        (
            {"type": ["string", "integer"], "description": "d"},
            {"description": "d", "anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]},
        ),
        (
            {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "null"}], "title": "t"},
            {"type": "STRING", "maxLength": 3, "nullable": True, "title": "t"},
        ),
        (
            {"oneOf": [{"type": "string"}, {"type": "number"}]},
            {"anyOf": [{"type": "STRING"}, {"type": "NUMBER"}]},
        ),
        ({"type": "array"}, {"type": "ARRAY", "items": {"type": "STRING"}}),
        (
            {"type": "array", "items": {"type": "boolean"}, "uniqueItems": True},
            {"type": "ARRAY", "items": {"type": "BOOLEAN"}},
        ),
        ({"type": "integer", "enum": [1, 2]}, {"type": "INTEGER"}),
        ({"enum": ["a"]}, {"type": "STRING", "enum": ["a"]}),
        (
            {
                "properties": {"a": {"type": "string"}},
                "required": ["a", "ghost"],
                "additionalProperties": False,
            },
            {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}, "required": ["a"]},
        ),
        (
            {
                "allOf": [
                    {**of(a={"type": "string"}), "required": ["a"]},
                    {**of(b={"type": "number"}), "required": ["b"]},
                ]
            },
            {
                "type": "OBJECT",
                "properties": {"a": {"type": "STRING"}, "b": {"type": "NUMBER"}},
                "required": ["a", "b"],
            },
        ),
        ({"type": "object"}, {"type": "OBJECT"}),
        ({}, {}),
    ],
)
def test_json_schemas_are_converted_to_openapi_schemas(schema: Json, sent: Json) -> None:
    assert openapi_schema(schema) == sent


@pytest.mark.behaviour("bad-schema-is-isolated")
@given(odd_schemas())
def test_any_schema_can_be_converted_and_encoded(schema: Json) -> None:
    json.dumps(openapi_schema(schema))

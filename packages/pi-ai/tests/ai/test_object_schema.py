from __future__ import annotations

import pytest
from hypothesis import given

from pi.ai.messages import Json
from pi.ai.wire_support.object_schemas import object_schema
from tests.ai.odd_schemas import odd_schemas

PATH = {"type": "string"}
COUNT = {"type": "integer"}


def test_an_object_schema_is_not_changed() -> None:
    schema = {"type": "object", "properties": {"path": PATH}, "$defs": {"a": {}}, "x-own": 1}

    assert object_schema(schema) is schema
    assert object_schema({}) == {"type": "object", "properties": {}}


@pytest.mark.behaviour("bad-schema-is-isolated")
def test_alternatives_at_the_top_level_are_merged_into_one_object() -> None:
    schema = {
        "description": "either",
        "anyOf": [
            {"type": "object", "properties": {"path": PATH}, "required": ["path"]},
            {"allOf": [{"properties": {"n": COUNT}}, True]},
            {"type": "null"},
        ],
        "properties": {"always": PATH},
        "required": ["always"],
    }

    assert object_schema(schema) == {
        "description": "either",
        "type": "object",
        "properties": {"path": PATH, "n": COUNT, "always": PATH},
        "required": ["always"],
    }


@pytest.mark.behaviour("bad-schema-is-isolated")
@given(odd_schemas())
def test_any_schema_becomes_an_object_schema(schema: Json) -> None:
    made = object_schema(schema)

    assert made["type"] == "object"
    assert not made.keys() & {"anyOf", "oneOf", "allOf"}

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi.agent.tools.define import validator
from pi.agent.tools.json_schema import BadSchema, FlatSchemas, find, inlined, rebuilt, types_of
from pi.ai.messages import Json
from tests.agent.schemas import documents, values_of


def test_the_types_of_a_schema_include_null_where_it_is_named() -> None:
    assert types_of({}) == ()
    assert types_of({"nullable": True}) == ()
    assert types_of({"type": "string", "nullable": True}) == ("string", "null")
    assert types_of({"type": ["string", "null"]}) == ("string", "null")


def test_references_are_pointers_into_the_document() -> None:
    root: Json = {"$defs": {"a/b": {"anyOf": [True, {"x~y": {"type": "null"}}]}}}
    assert find(root, "#") is root
    assert find(root, "#/$defs/a~1b/anyOf/0") is True
    assert find(root, "#/$defs/a~1b/anyOf/1/x~0y") == {"type": "null"}


@pytest.mark.parametrize(
    "reference",
    ["other.json#/a", "#name", "#/missing", "#/list/7", "#/list/x", "#/list", "#/text/x"],
)
def test_unresolvable_references_are_rejected(reference: str) -> None:
    with pytest.raises(BadSchema):
        find({"list": [{}], "text": "x"}, reference)


def test_keywords_are_not_confused_with_properties_of_the_same_name() -> None:
    schema: Json = {
        "title": "T",
        "properties": {
            "title": {"title": "X", "type": "string"},
            "items": {"default": {"title": 1}},
        },
        "items": [{"title": "Y"}],
        "anyOf": [{"title": "Z"}],
        "not": {"title": "N"},
    }
    assert inlined(schema, without=frozenset({"title"})) == {
        "properties": {"title": {"type": "string"}, "items": {"default": {"title": 1}}},
        "items": [{}],
        "anyOf": [{}],
        "not": {},
    }


def test_keywords_beside_a_reference_override_its_target() -> None:
    root: Json = {
        "properties": {
            "a": {"$ref": "#/$defs/A", "description": "mine"},
            "b": {"$ref": "#/$defs/B"},
        },
        "$defs": {"A": {"$ref": "#/definitions/C", "description": "theirs"}, "B": True},
        "definitions": {"C": {"type": "string", "description": "far"}},
    }
    assert inlined(root) == {
        "properties": {"a": {"type": "string", "description": "mine"}, "b": True}
    }


def test_recursive_types_remain_references_to_definitions() -> None:
    tree: Json = {
        "properties": {"kids": {"items": {"$ref": "#/x/Tree"}}, "up": {"$ref": "#/y/Tree"}}
    }
    up: Json = {"properties": {"tree": {"$ref": "#/x/Tree"}, "up": {"$ref": "#/y/Tree"}}}
    whole = inlined({"$ref": "#/x/Tree", "x": {"Tree": tree}, "y": {"Tree": up}})
    assert whole["properties"]["kids"] == {"items": {"$ref": "#/$defs/Tree"}}
    assert whole["$defs"]["Tree"]["properties"]["kids"] == {"items": {"$ref": "#/$defs/Tree"}}
    assert whole["$defs"]["Tree_"]["properties"]["up"] == {"$ref": "#/$defs/Tree_"}


def test_a_recursive_document_gets_a_definition_of_itself() -> None:
    whole = inlined({"properties": {"kid": {"$ref": "#"}}})
    kid = {"properties": {"kid": {"$ref": "#/$defs/root"}}}
    assert whole == {"properties": {"kid": kid}, "$defs": {"root": kid}}


def test_references_that_expand_exponentially_are_rejected() -> None:
    level = {f"L{n}": {"allOf": [{"$ref": f"#/$defs/L{n + 1}"}] * 10} for n in range(9)}
    with pytest.raises(BadSchema, match="more than 500 references"):
        inlined({"$ref": "#/$defs/L0", "$defs": {**level, "L9": {}}})


def test_all_of_is_merged_except_for_conflicting_keywords() -> None:
    root: Json = {
        "description": "mine",
        "$ref": "#/$defs/A",
        "allOf": [{"minimum": 3}, True, {"required": ["b"], "properties": {"b": {}}}],
        "$defs": {
            "A": {
                "description": "theirs",
                "minimum": 1,
                "required": ["a"],
                "properties": {"a": {}, "b": True},
            }
        },
    }
    assert FlatSchemas(root).flat(root) == {
        "description": "mine",
        "minimum": 1,
        "required": ["a", "b"],
        "properties": {"a": {}, "b": {"allOf": [True, {}]}},
        "$defs": root["$defs"],
        "allOf": [{"description": "theirs"}, {"minimum": 3}],
    }


def test_the_schema_true_accepts_any_value_and_false_none() -> None:
    schemas = FlatSchemas({})
    assert (schemas.flat(True), schemas.flat(False)) == ({}, {"enum": []})


@settings(max_examples=30)
@given(st.data(), documents())
def test_inlining_does_not_change_which_values_are_valid(data: st.DataObject, root: Json) -> None:
    value = data.draw(values_of(root, root))
    whole = inlined(root)
    assert set(whole.get("$defs", {})) <= {"tree"}
    assert msgspec.json.encode(validator(whole)(value)) == msgspec.json.encode(value)


@given(documents())
def test_rebuilding_without_a_change_returns_an_equal_schema(root: Json) -> None:
    assert rebuilt(root, lambda part: part) == root

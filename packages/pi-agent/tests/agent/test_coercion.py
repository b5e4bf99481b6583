from __future__ import annotations

from typing import Any

import pytest

from pi.agent.tools.coercion import Coercion
from pi.agent.tools.json_schema import FlatSchemas
from pi.ai.messages import Json

OBJECT: Json = {"type": "object", "properties": {"n": {"type": "integer"}}}
LIST: Json = {"type": "array", "items": OBJECT}
WRITE: Json = {"properties": {"type": {"const": "write"}, "text": {"type": "string"}}}
MOVE: Json = {"properties": {"type": {"const": "move"}, "to": {"type": "string"}}}
STEP: Json = {
    "anyOf": [
        {"type": "object", "required": ["type", "text"], **WRITE},
        {"type": "object", "required": ["type", "to"], **MOVE},
        {"type": "string"},
    ]
}


def walked(schema: Json, value: Any, *, fill_defaults: bool = True) -> tuple[Any, list[str]]:
    """The coerced value and the problems."""
    walk = Coercion(FlatSchemas(schema), fill_defaults=fill_defaults)
    result = walk.apply(value, schema)
    locations = [".".join(map(str, issue.location)) for issue in walk.issues]
    reported = [
        f"{location}: {issue.message}"
        for location, issue in zip(locations, walk.issues, strict=True)
    ]
    return result, reported


def mended(schema: Json, value: Any) -> Any:
    result, problems = walked(schema, value)
    assert problems == []
    return result


def problems(schema: Json, value: Any) -> list[str]:
    return walked(schema, value)[1]


@pytest.mark.behaviour("arguments-are-coerced")
@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "integer"}, "5", 5),
        ({"type": "integer"}, 5.0, 5),
        ({"type": "number"}, " -2.5e1 ", -25.0),
        ({"type": "boolean"}, "True", True),
        ({"type": "null"}, "null", None),
        ({"type": ["integer", "null"]}, "", None),
        ({"type": "integer", "nullable": True}, None, None),
        (LIST, '[{"n": "1"}]', [{"n": 1}]),
        (LIST, {"n": 1}, [{"n": 1}]),
        (LIST, '{"n": 1}', [{"n": 1}]),
        (LIST, ({"n": 1},), [{"n": 1}]),
        ({"type": "array"}, {"n": 1}, [{"n": 1}]),
        (OBJECT, '{"n": 1}', {"n": 1}),
        ({"enum": ["read", "write"]}, "Read\n", "read"),
        ({"enum": ["a", "A"]}, "a\n", "a"),
        ({"enum": [1, 2]}, "2", 2),
        ({"enum": ["1", "2"]}, 2, "2"),
        ({"const": True}, "true", True),
        ({"type": "string"}, 3, "3"),
        ({"type": "string"}, 2.5, "2.5"),
        ({"type": "array", "uniqueItems": True}, [1, 2, 1], [1, 2]),
    ],
)
def test_values_of_the_wrong_type_are_coerced_when_unambiguous(
    schema: Json, value: Any, expected: Any
) -> None:
    result = mended(schema, value)
    assert (result, type(result)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        ({"type": "string"}, True, ": must be a string (got boolean)"),
        ({"type": "integer"}, True, ": must be an integer (got boolean)"),
        ({"type": "integer"}, 5.5, ": must be an integer (got 5.5)"),
        ({"type": "integer"}, "five", ": must be an integer (got string)"),
        ({"type": "number"}, "1e999", ": must be a number (got string)"),
        ({"type": "boolean"}, 1, ": must be a boolean (got number)"),
        ({"type": "array", "items": {"type": "string"}}, {}, ": must be an array (got object)"),
        ({"type": "array", "items": [OBJECT]}, {}, ": must be an array (got object)"),
        (LIST, "[", ": must be an array (got string)"),
        ({"enum": ["a", "A"]}, "a ", None),
        ({"enum": ["aa", "AA"]}, "Aa", ': must be "aa" or "AA" (got "Aa")'),
        ({"enum": ["a", [1]]}, [2], ': must be "a" or array (got array)'),
        ({"const": 1}, True, ": must be 1 (got true)"),
    ],
)
def test_an_ambiguous_value_is_reported_and_not_coerced(
    schema: Json, value: Any, problem: str | None
) -> None:
    assert problems(schema, value) == ([problem] if problem else [])


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        ({"minimum": 1}, 0, "must be at least 1 (got 0)"),
        ({"maximum": 1.5}, 2, "must be at most 1.5 (got 2)"),
        ({"exclusiveMinimum": 0}, 0, "must be more than 0 (got 0)"),
        ({"exclusiveMaximum": 1}, 1, "must be less than 1 (got 1)"),
        ({"multipleOf": 5}, 7, "must be a multiple of 5 (got 7)"),
        ({"multipleOf": 0.1}, 0.25, "must be a multiple of 0.1 (got 0.25)"),
        ({"minLength": 1}, "", "must have at least 1 character (got 0)"),
        ({"maxLength": 2}, "abc", "must have at most 2 characters (got 3)"),
        ({"pattern": "^a+$"}, "b", 'must match the pattern ^a+$ (got "b")'),
        ({"minItems": 2}, [], "must have at least 2 items (got 0)"),
        ({"maxItems": 1}, [1, 2], "must have at most 1 item (got 2)"),
        ({"minProperties": 1}, {}, "must have at least 1 field (got 0)"),
    ],
)
def test_limits_are_reported_with_the_value(schema: Json, value: Any, problem: str) -> None:
    assert problems(schema, value) == [f": {problem}"]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"multipleOf": 0.1}, 0.3),
        ({"multipleOf": 0.5}, 10**400),
        ({"minimum": 1, "exclusiveMinimum": True}, 1),
        ({"pattern": r"^\p{L}+$"}, "1"),
        ({"minLength": 5}, 3),
        ({"format": "email", "madeUp": 1}, "any text"),
        (True, {"a": 1}),
        ({"properties": {"a": {"not": {}}}}, {"a": 1}),
    ],
)
def test_constraints_that_cannot_be_checked_or_do_not_apply_are_ignored(
    schema: Any, value: Any
) -> None:
    assert mended(schema, value) == value


def test_arrays_with_a_schema_per_item_are_checked_item_by_item() -> None:
    pair = {"type": "array", "prefixItems": [{"type": "integer"}], "items": False}
    old = {"items": [{"type": "integer"}], "additionalItems": {"type": "string"}}
    assert mended(pair, ["1"]) == [1]
    assert problems(pair, [1, 2]) == ["1: is not accepted here"]
    assert problems(old, [1, "a", True]) == ["2: must be a string (got boolean)"]


@pytest.mark.behaviour("arguments-are-trimmed")
def test_line_ends_after_paths_and_formatted_strings_are_removed() -> None:
    text = {"type": "string"}
    names = ("path", "file_path", "filePath", "cwd", "content", "profile")
    schema = {
        "properties": {
            **dict.fromkeys(names, text),
            "paths": {"type": "array", "items": text},
            "when": {"type": "string", "format": "date"},
        }
    }
    value = {**dict.fromkeys(names, "x\r\n"), "paths": ["y\n"], "when": "2026-01-01\n"}
    assert mended(schema, value) == {
        **dict.fromkeys(("path", "file_path", "filePath", "cwd"), "x"),
        **dict.fromkeys(("content", "profile"), "x\r\n"),
        "paths": ["y"],
        "when": "2026-01-01",
    }


@pytest.mark.behaviour("arguments-are-trimmed")
def test_optional_properties_that_are_empty_are_taken_as_left_out() -> None:
    schema = {
        "properties": {
            "must": {"type": "string"},
            "text": {"type": "string"},
            "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "count": {"type": "integer"},
            "mode": {"enum": ["a", "b"]},
            "none": {"type": "string"},
            "kept_default": {"type": "string", "default": ""},
            "kept_option": {"type": "string", "enum": ["", "a"]},
            "kept_anything": {},
            "kept_null": {"type": ["string", "null"]},
        },
        "required": ["must"],
    }
    value = dict.fromkeys(schema["properties"], "") | {"none": None, "kept_null": None}
    assert mended(schema, value) == {
        "must": "",
        "kept_default": "",
        "kept_option": "",
        "kept_anything": "",
        "kept_null": None,
    }


def test_null_for_a_required_property_is_reported() -> None:
    schema = {"properties": {"a": {"type": "string"}}, "required": ["a", "a"]}
    assert problems(schema, {"a": None}) == ["a: must be a string (got null)"]
    assert problems(schema, {}) == ["a: must have required properties a"]


def test_unknown_properties_pass_unless_they_are_excluded_and_then_they_are_dropped() -> None:
    some = {"properties": {"a": {}}, "patternProperties": {"^x-": {"type": "integer"}, "(": {}}}
    value = {"a": 1, "b": 2, "x-n": "3"}
    assert mended(some, value) == {"a": 1, "b": 2, "x-n": 3}
    assert mended({**some, "additionalProperties": False}, value) == {"a": 1, "x-n": 3}
    assert mended({"additionalProperties": {"type": "integer"}}, {"b": "2"}) == {"b": 2}


def test_defaults_are_filled_in_without_a_decoder() -> None:
    schema = {
        "properties": {"a": {"default": 1}, "b": {"$ref": "#/$defs/b"}},
        "required": ["a"],
        "$defs": {"b": {"default": [2]}},
    }
    assert mended(schema, {"z": 0}) == {"z": 0, "a": 1, "b": [2]}
    assert walked(schema, {"a": 0}, fill_defaults=False) == ({"a": 0}, [])


@pytest.mark.behaviour("arguments-are-coerced")
@pytest.mark.parametrize(
    ("arms", "value", "expected"),
    [
        ([{"type": "integer"}, {"type": "string"}], "5", "5"),
        ([{"type": "array"}, {"type": "object"}], {"a": 1}, {"a": 1}),
        ([{"type": "integer"}, {"type": "number"}], 5.0, 5.0),
        ([{"type": "boolean"}, {"type": "integer"}], "5", 5),
        ([{"additionalProperties": False}, OBJECT], {"n": "1"}, {"n": 1}),
        ([{"additionalProperties": False, "properties": {"a": {}}}, OBJECT], {"n": 1}, {"n": 1}),
    ],
)
@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_a_value_matches_the_union_arm_that_changes_it_least(
    keyword: str, arms: list[Json], value: Any, expected: Any
) -> None:
    result = mended({keyword: arms}, value)
    assert (result, type(result)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"type": "move"}, ["to: must have required properties to"]),
        ({"type": "write", "text": True}, ["text: must be a string (got boolean)"]),
        ({"type": "copy"}, ['type: must be "write" or "move" (got "copy")']),
        (True, [": must be an object or a string (got boolean)"]),
        ({"type": None}, ['type: must be "write" or "move" (got null)']),
    ],
)
def test_the_problems_reported_for_a_union_are_those_of_the_best_matching_arm(
    value: Any, expected: list[str]
) -> None:
    assert problems(STEP, value) == expected


def test_a_problem_inside_a_coerced_value_is_reported_with_its_value() -> None:
    schema = {"anyOf": [{"type": "array", "items": {"properties": {"a": {"enum": [1]}}}}]}
    assert problems(schema, {"a": 2}) == ["0.a: must be 1 (got 2)"]


def test_keywords_beside_a_union_are_checked_as_well() -> None:
    schema = {**OBJECT, "anyOf": [{"required": ["n"]}, {"required": ["m"]}]}
    assert mended(schema, {"n": "1"}) == {"n": 1}
    assert problems(schema, {}) == ["n: must have required properties n"]


def test_parts_of_an_all_of_allow_the_properties_of_each_other() -> None:
    one = {"properties": {"a": {"type": "number"}}, "additionalProperties": False}
    two = {
        "properties": {"b": {}, "a": {"type": "integer"}},
        "required": ["b"],
        "additionalProperties": True,
    }
    schema = {"allOf": [one, two]}
    assert mended(schema, {"a": "1.0", "b": 2, "c": 3}) == {"a": 1, "b": 2}
    assert problems(schema, {}) == ["b: must have required properties b"]


def test_recursive_references_are_followed_over_nested_values() -> None:
    node = {"properties": {"n": {"type": "integer"}, "next": {"$ref": "#"}}}
    assert mended(node, {"n": "1", "next": {"n": "2"}}) == {"n": 1, "next": {"n": 2}}
    assert problems(node, {"next": {"n": "x"}}) == ["next.n: must be an integer (got string)"]

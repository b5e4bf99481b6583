from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.ai.errors import BadRequest
from pi.ai.messages import Json, Tool
from pi.ai.wire_support.tool_schemas import (
    CLAUDE,
    OPENAI,
    Dialect,
    refuse_loosening,
    strict_schema,
    strict_schemas,
)
from tests.ai.odd_schemas import odd_schemas

PATH = {"type": "string"}
COUNT = {"type": "integer"}

every_dialect = pytest.mark.parametrize("dialect", [CLAUDE, OPENAI], ids=["claude", "openai"])


def schema(*required: str, **properties: object) -> Json:
    return {"type": "object", "properties": properties, "required": list(required)}


def closed(*required: str, **properties: object) -> Json:
    return {**schema(*required, **properties), "additionalProperties": False}


def tool(name: str, strict: str = "prefer", parameters: Json | None = None) -> Tool:
    return Tool(
        name=name,
        description="",
        parameters=schema("path", path=PATH) if parameters is None else parameters,
        constrained_sampling={"type": "json_schema", "strict": strict},
    )


# One schema --------------------------------------------------------------------------------------


@every_dialect
def test_every_object_is_closed(dialect: Dialect) -> None:
    inner, shut = schema("n", n=COUNT), closed("n", n=COUNT)
    loose = schema(
        "list",
        "either",
        list={"type": "array", "items": inner},
        either={"anyOf": [inner, PATH]},
    )

    assert strict_schema(loose, dialect) == closed(
        "list",
        "either",
        list={"type": "array", "items": shut},
        either={"anyOf": [shut, PATH]},
    )
    assert inner == schema("n", n=COUNT)


@every_dialect
@pytest.mark.parametrize(
    "loose",
    [
        {"type": "object"},
        {"type": "object", "properties": {}, "additionalProperties": PATH},
        {"type": "object", "properties": {}, "additionalProperties": True},
        {"type": "object", "properties": {}, "additionalProperties": {}},
        {"type": "object", "properties": {}, "patternProperties": {"a": PATH}},
        {"type": ["object", "null"], "properties": {}},
        {"properties": {}},
        {"anyOf": None},
        {"oneOf": [PATH, COUNT]},
        {"oneOf": []},
        True,
    ],
)
def test_an_unsupported_schema_has_no_strict_schema(dialect: Dialect, loose: object) -> None:
    assert strict_schema(schema("a", a=loose), dialect) is None


@every_dialect
@pytest.mark.parametrize(
    "top",
    [
        {},
        {"type": "string"},
        {"type": "object"},
        {"anyOf": []},
        {"type": "object", "properties": {}, "anyOf": [{}]},
        {**schema("a", a=PATH), "additionalProperties": True},
    ],
)
def test_the_top_level_must_be_a_closed_object(dialect: Dialect, top: Json) -> None:
    assert strict_schema(top, dialect) is None


def test_claude_accepts_optional_properties_but_no_limits() -> None:
    parameters = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "where", "minLength": 1},
            "list": {"type": "array", "minItems": 2, "items": {"type": "object", "properties": {}}},
            "either": {"anyOf": [PATH, {"type": "integer", "minimum": 3}]},
        },
        "required": ["path"],
    }

    assert strict_schema(parameters, CLAUDE) == closed(
        "path",
        path={"type": "string", "description": "where"},
        list={"type": "array", "items": closed()},
        either={"anyOf": [PATH, COUNT]},
    )


def test_openai_accepts_limits_but_no_optional_properties() -> None:
    limited = {"type": "string", "minLength": 1}

    assert strict_schema(schema("a", a=limited), OPENAI) == closed("a", a=limited)
    assert strict_schema(schema(a=PATH), OPENAI) is None
    assert strict_schema(schema("o", o=schema(optional=PATH)), OPENAI) is None


def test_only_openai_supports_references() -> None:
    node = schema("next", next={"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]})
    parameters = {**schema("first", first={"$ref": "#/$defs/node"}), "$defs": {"node": node}}

    assert strict_schema(parameters, CLAUDE) is None
    assert strict_schema(parameters, OPENAI) == {
        **closed("first", first={"$ref": "#/$defs/node"}),
        "$defs": {"node": {**node, "additionalProperties": False}},
    }


@given(odd_schemas(), st.sampled_from([CLAUDE, OPENAI]))
def test_any_schema_becomes_a_closed_object_or_none(anything: Json, dialect: Dialect) -> None:
    for parameters in (anything, {**anything, "type": "object"}, schema("a", a=anything)):
        made = strict_schema(parameters, dialect)
        assert made is None or made["additionalProperties"] is False


@every_dialect
def test_making_a_strict_schema_strict_changes_nothing(dialect: Dialect) -> None:
    made = strict_schema(schema("a", a=schema("b", b=PATH)), dialect)

    assert made is not None
    assert strict_schema(made, dialect) == made


def test_an_infinitely_nested_schema_has_no_strict_schema() -> None:
    endless = schema("a", a=PATH)
    endless["properties"]["a"] = endless

    assert strict_schema(endless, CLAUDE) is None


# All schemas of a request ------------------------------------------------------------------------


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
def test_all_tools_are_strict_or_none() -> None:
    strict = closed("path", path=PATH)
    tools = (tool("a"), tool("b", "require"))

    assert strict_schemas(tools, OPENAI) == {"a": strict, "b": strict}
    assert strict_schemas((), OPENAI) == {}


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
@pytest.mark.parametrize(
    "other",
    [
        Tool(name="b", description="", parameters=schema()),
        Tool(name="b", description="", parameters=schema(), constrained_sampling=False),
        Tool(
            name="b",
            description="",
            parameters=schema(),
            constrained_sampling={"type": "grammar", "variants": {}},
        ),
        tool("b", strict="never"),
        tool("b", parameters={"type": "object"}),
    ],
    ids=["no wish", "no sampling", "grammar", "another wish", "not to be said"],
)
def test_one_tool_without_a_strict_schema_makes_all_tools_loose(other: Tool) -> None:
    assert strict_schemas((tool("a"), other), CLAUDE) == {}


@pytest.mark.parametrize(
    ("other", "answers", "reason"),
    [
        (tool("a"), {"supported": False}, "this model takes no strict tools"),
        (tool("a"), {"refused": True}, "the server has refused strict tools"),
        (
            tool("a", parameters={"type": "object"}),
            {},
            "the parameters of the tool a have no strict form",
        ),
        (
            Tool(name="a", description="", parameters=schema()),
            {},
            "the tool a beside it is not strict",
        ),
    ],
)
def test_a_tool_that_requires_strict_arguments_raises_if_they_are_impossible(
    other: Tool, answers: dict[str, bool], reason: str
) -> None:
    assert strict_schemas((other, tool("b")), CLAUDE, **answers) == {}

    with pytest.raises(BadRequest) as caught:
        strict_schemas((other, tool("b", "require")), CLAUDE, **answers)

    assert caught.value.message == f"The tool b requires strict arguments, but {reason}."


def test_tools_that_only_prefer_strict_arguments_can_be_sent_loose() -> None:
    refuse_loosening((tool("a"), Tool(name="b", description="", parameters=schema())), "…")

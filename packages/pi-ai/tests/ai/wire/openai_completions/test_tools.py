from __future__ import annotations

import pytest

from pi.ai.messages import Json, Tool
from pi.ai.wire.openai_completions.compat import Compat
from pi.ai.wire.openai_completions.tools import ToolForms, declaration, tool_choice, tool_forms
from pi.base.records import replace
from tests.ai.wire.openai_completions.chats import PEEK

STRICT = Compat(supports_strict_mode=True)
GRAMMARS = Compat(supports_openai_grammar_tools=True)
LOOSE = ToolForms()

EAGER = replace(PEEK, constrained_sampling={"type": "json_schema", "strict": "prefer"})
PATCH = Tool(
    name="patch",
    description="change a file",
    parameters={"type": "object", "properties": {"diff": {"type": "string"}}},
    constrained_sampling={
        "type": "grammar",
        "variants": {"openai_lark": "start: /.+/", "openai_regex": ".+"},
    },
)


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
def test_strict_is_not_sent_to_servers_without_known_support() -> None:
    assert tool_forms([EAGER], Compat()) == LOOSE
    assert "strict" not in declaration(EAGER, LOOSE)["function"]


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
def test_strict_and_loose_schemas_are_never_mixed() -> None:
    closed = {**EAGER.parameters, "additionalProperties": False}

    alone = declaration(EAGER, tool_forms([EAGER], STRICT))["function"]
    mixed = declaration(EAGER, tool_forms([EAGER, PEEK], STRICT))["function"]

    assert (alone["strict"], alone["parameters"]) == (True, closed)
    assert (mixed["strict"], mixed["parameters"]) == (False, EAGER.parameters)


@pytest.mark.parametrize(
    "schema",
    [
        {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "required": ["a"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"a": {"type": "array", "items": {"type": "object"}}},
            "required": ["a"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"a": {"anyOf": [{"type": "object"}, {"type": "null"}]}},
            "required": ["a"],
            "additionalProperties": False,
        },
        {"type": "object", "properties": {"a": True}, "additionalProperties": False},
    ],
    ids=["optional", "open items", "open choice", "no schema"],
)
def test_a_schema_that_strict_mode_would_refuse_is_sent_loose(schema: Json) -> None:
    assert tool_forms([replace(EAGER, parameters=schema)], STRICT).strict == {}


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
def test_tools_are_loose_after_strict_was_rejected() -> None:
    forms = tool_forms([EAGER], STRICT, strict_refused=True)

    assert declaration(EAGER, forms) == declaration(PEEK, tool_forms([PEEK], STRICT))


def test_a_tool_with_a_grammar_is_declared_as_a_free_text_tool() -> None:
    forms = tool_forms([PATCH, PEEK], GRAMMARS)

    assert forms.inputs == {"patch": "diff"}
    assert declaration(PATCH, forms) == {
        "type": "custom",
        "custom": {
            "name": "patch",
            "description": "change a file",
            "format": {
                "type": "grammar",
                "grammar": {"syntax": "lark", "definition": "start: /.+/"},
            },
        },
    }


def test_a_regular_expression_is_sent_as_a_grammar() -> None:
    tool = replace(
        PATCH, constrained_sampling={"type": "grammar", "variants": {"openai_regex": ".+"}}
    )

    custom = declaration(tool, tool_forms([tool], GRAMMARS))["custom"]

    assert custom["format"]["grammar"] == {"syntax": "regex", "definition": ".+"}


@pytest.mark.parametrize(
    "tool",
    [
        replace(PATCH, constrained_sampling=False),
        replace(PATCH, constrained_sampling={"type": "grammar", "variants": {"other": "x"}}),
        replace(PATCH, parameters={"type": "object", "properties": {"a": {"type": "number"}}}),
        replace(PATCH, parameters={"type": "object", "properties": {}}),
        replace(PATCH, parameters={"type": "object"}),
    ],
    ids=["no constraint", "unknown grammar", "no text", "no argument", "no properties"],
)
def test_a_tool_without_a_usable_grammar_is_declared_as_a_function(tool: Tool) -> None:
    assert tool_forms([tool], GRAMMARS).inputs == {}


def test_a_grammar_is_not_sent_to_servers_without_known_support() -> None:
    assert tool_forms([PATCH], Compat()).inputs == {}


def test_a_tool_choice_has_the_form_of_the_chosen_tool() -> None:
    forms = tool_forms([PATCH, PEEK], GRAMMARS)

    assert tool_choice("none", [PEEK], forms) == "none"
    assert tool_choice({"type": "tool", "name": "peek"}, [PATCH, PEEK], forms) == {
        "type": "function",
        "function": {"name": "peek"},
    }
    assert tool_choice({"type": "tool", "name": "patch"}, [PATCH, PEEK], forms) == {
        "type": "custom",
        "custom": {"name": "patch"},
    }


@pytest.mark.behaviour("no-tools-no-tool-fields")
def test_a_forced_choice_of_an_absent_tool_is_dropped() -> None:
    assert tool_choice({"type": "tool", "name": "gone"}, [PEEK], LOOSE) is None

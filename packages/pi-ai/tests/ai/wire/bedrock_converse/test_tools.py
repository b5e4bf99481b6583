from __future__ import annotations

import pytest

from pi.ai.errors import BadRequest
from pi.ai.messages import Json, Tool
from pi.ai.wire.bedrock_converse.compat import ModelCompat
from pi.ai.wire.bedrock_converse.tools import tool_choice, tool_config
from pi.base.records import replace
from tests.ai.wire.bedrock_converse.calls import assistant_message, peek
from tests.ai.wire.fixed_conversation import PEEK

LOOSE, STRICT = ModelCompat(), ModelCompat(strict_tools=True)
PREFERRED = replace(PEEK, constrained_sampling={"type": "json_schema", "strict": "prefer"})
REQUIRED = replace(PEEK, constrained_sampling={"type": "json_schema", "strict": "require"})


def declared(name: str, schema: Json, **more: object) -> Json:
    return {"toolSpec": {"name": name, **more, "inputSchema": {"json": schema}}}


DECLARED = declared("peek", PEEK.parameters, description="look at it")


@pytest.mark.behaviour("no-tools-no-tool-fields")
def test_without_tools_there_is_no_tool_config() -> None:
    assert tool_config((), (), "auto", LOOSE) is None


@pytest.mark.behaviour("bedrock-request-rules")
def test_a_conversation_with_calls_has_a_tool_config_even_when_no_tool_is_active() -> None:
    history = (assistant_message(peek("a"), peek("b")),)

    config = tool_config((), history, None, LOOSE)

    assert config == {"tools": [declared("peek", {"type": "object", "properties": {}})]}


def test_the_tool_choice_none_omits_tools_unless_the_history_has_calls() -> None:
    assert tool_config((PEEK,), (), "none", LOOSE) is None
    assert tool_config((PEEK,), (assistant_message(peek()),), "none", LOOSE) == {
        "tools": [DECLARED]
    }


@pytest.mark.behaviour("no-tools-no-tool-fields")
def test_tool_choices_are_encoded_in_the_format_of_the_wire() -> None:
    assert tool_choice(None, (PEEK,)) is None
    assert tool_choice("none", (PEEK,)) is None
    assert tool_choice("auto", (PEEK,)) == {"auto": {}}
    assert tool_choice({"type": "any"}, (PEEK,)) == {"any": {}}
    assert tool_choice({"type": "tool", "name": "peek"}, (PEEK,)) == {"tool": {"name": "peek"}}
    assert tool_choice({"type": "tool", "name": "gone"}, (PEEK,)) is None
    assert tool_choice({"type": "any"}, ()) is None
    assert tool_config((PEEK,), (), "auto", LOOSE) == {
        "tools": [DECLARED],
        "toolChoice": {"auto": {}},
    }


def test_a_blank_description_is_left_out() -> None:
    config = tool_config((replace(PEEK, description=" "),), (), None, LOOSE)

    assert config == {"tools": [declared("peek", PEEK.parameters)]}


@pytest.mark.behaviour("bad-schema-is-isolated")
def test_a_schema_with_alternatives_becomes_an_object() -> None:
    odd = {"description": "either", "anyOf": [{"properties": {"a": {}}}, {"type": "null"}]}

    config = tool_config((replace(PEEK, parameters=odd),), (), None, LOOSE)

    schema = {"description": "either", "type": "object", "properties": {"a": {}}}
    assert config == {"tools": [declared("peek", schema, description="look at it")]}


# Strict tools ------------------------------------------------------------------------------------


def strict_tool(name: str, **properties: Json) -> Tool:
    parameters = {"type": "object", "properties": properties}
    return replace(PREFERRED, name=name, parameters=parameters)


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
def test_tools_are_strict_if_the_model_and_all_schemas_support_it() -> None:
    config = tool_config((PREFERRED,), (), None, STRICT)

    closed = {**PEEK.parameters, "additionalProperties": False}
    spec = {**declared("peek", closed, description="look at it")["toolSpec"], "strict": True}
    assert config == {"tools": [{"toolSpec": spec}]}
    assert tool_config((PREFERRED,), (), None, STRICT, strict_refused=True) == {"tools": [DECLARED]}


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
@pytest.mark.parametrize(
    "tools",
    [
        (PREFERRED, replace(PEEK, name="other")),
        (PREFERRED, strict_tool("open", any={"$ref": "#"})),
        (replace(PEEK, constrained_sampling=False),),
    ],
)
def test_strict_tools_are_never_mixed_with_loose_ones(tools: tuple[Tool, ...]) -> None:
    config = tool_config(tools, (), None, STRICT)

    assert config is not None
    assert not any("strict" in tool["toolSpec"] for tool in config["tools"])


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
def test_a_model_without_known_strict_support_gets_loose_tools() -> None:
    assert tool_config((PREFERRED,), (), None, LOOSE) == {"tools": [DECLARED]}


def test_a_tool_that_requires_strict_arguments_raises_if_they_are_unsupported() -> None:
    with pytest.raises(BadRequest, match="The tool peek requires strict arguments"):
        tool_config((REQUIRED,), (), None, LOOSE)

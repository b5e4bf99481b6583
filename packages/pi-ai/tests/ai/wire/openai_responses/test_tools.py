from __future__ import annotations

import pytest
from msgspec import UNSET

from pi.ai.messages import Json, Tool
from pi.ai.wire.openai_responses.compat import Compat
from pi.ai.wire.openai_responses.tools import (
    ResponsesTools,
    pack_tools,
    text_arguments,
    tool_choice,
)
from tests.ai.wire.openai_responses.talk import CLOSED, GRAMMAR, STRICT, system, tool, user

OPTIONAL: Json = {"type": "object", "properties": {"path": {"type": "string"}}}
STRICT_SERVER = Compat(supports_strict_mode=True, loose_tools=False)
PLAIN = Compat()
IN_PLACE = Compat(supports_mid_convo_system_messages=True, supports_additional_tools=True)


def declared(*tools: Tool, compat: Compat = PLAIN, refused: bool = False) -> tuple[Json, ...]:
    return pack_tools((system("", *tools),), tools, compat, strict_refused=refused).first


def function(name: str = "peek", parameters: Json = CLOSED, **more: object) -> Json:
    shape = {"type": "function", "name": name, "description": f"does {name}"}
    return {**shape, "parameters": parameters, **more}


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
def test_strict_is_not_sent_to_servers_without_known_support() -> None:
    assert declared(tool(sampling=STRICT)) == (function(),)


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
def test_tools_are_strict_if_all_schemas_support_it() -> None:
    closed = {**CLOSED, "additionalProperties": False}

    items = declared(tool("a", STRICT), tool("b", STRICT), compat=STRICT_SERVER)

    assert items == (function("a", closed, strict=True), function("b", closed, strict=True))


@pytest.mark.behaviour("strict-schemas-only-where-accepted", "bad-schema-is-isolated")
def test_one_tool_without_a_strict_schema_makes_all_tools_loose() -> None:
    items = declared(tool("a", STRICT), tool("b", STRICT, **OPTIONAL), compat=STRICT_SERVER)

    assert items == (function("a", strict=False), function("b", OPTIONAL, strict=False))


def test_tools_are_loose_after_strict_was_rejected() -> None:
    items = declared(tool(sampling=STRICT), compat=STRICT_SERVER, refused=True)

    assert items == (function(strict=False),)


def test_a_tool_with_a_grammar_is_declared_as_a_text_tool() -> None:
    regex = {"type": "grammar", "variants": {"openai_regex": "[a-z]+"}}
    compat = Compat(supports_grammar_tools=True)

    items = declared(tool("a", GRAMMAR), tool("b", regex), tool("c"), compat=compat)

    assert items[0] == {
        "type": "custom",
        "name": "a",
        "description": "does a",
        "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"},
    }
    assert items[1]["format"] == {"type": "grammar", "syntax": "regex", "definition": "[a-z]+"}
    assert items[2] == function("c")
    assert text_arguments((tool("a", GRAMMAR), tool("c")), compat) == {"a": "path"}


def test_a_grammar_tool_is_a_function_if_its_grammar_is_unsupported() -> None:
    two = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    compat = Compat(supports_grammar_tools=True)

    assert declared(tool(sampling=GRAMMAR)) == (function(),)
    assert declared(tool("b", GRAMMAR, **two), compat=compat) == (function("b", two),)
    assert declared(tool("c", {"type": "grammar", "variants": {}}), compat=compat) == (
        function("c"),
    )


@pytest.mark.behaviour("prompt-prefix-is-stable")
def test_tools_added_later_do_not_change_the_first_declared_tools() -> None:
    messages = (system("", tool("a")), user("hi"), system("", tool("b"), tool("c")))
    tools = (tool("a"), tool("b"), tool("c"))

    box = pack_tools(messages, tools, IN_PLACE)

    assert box == ResponsesTools(
        first=(function("a"),),
        late={"b": function("b"), "c": function("c")},
        text_arguments={},
    )
    assert pack_tools(messages, tools, Compat()).late == {}


def test_a_redeclared_tool_is_declared_in_the_later_place() -> None:
    messages = (system("", tool("a")), user("hi"), system("", tool("a", **OPTIONAL)))

    box = pack_tools(messages, (tool("a", **OPTIONAL),), IN_PLACE)

    assert (box.first, box.late) == ((), {"a": function("a", OPTIONAL)})


@pytest.mark.behaviour("no-tools-no-tool-fields")
def test_a_choice_of_an_absent_tool_is_dropped() -> None:
    box = ResponsesTools(first=(function("a"),), late={}, text_arguments={"t": "path"})
    texts = ResponsesTools(first=(function("t"),), late={}, text_arguments={"t": "path"})
    empty = ResponsesTools(first=(), late={}, text_arguments={})

    assert tool_choice({"type": "tool", "name": "gone"}, box) is None
    assert tool_choice({"type": "tool", "name": "a"}, box) == {"type": "function", "name": "a"}
    assert tool_choice({"type": "tool", "name": "t"}, texts) == {"type": "custom", "name": "t"}
    assert tool_choice("none", box) == "none"
    assert tool_choice("none", empty) is None
    assert tool_choice(None, box) is None


def test_the_strict_value_of_loose_tools_can_be_null_or_omitted() -> None:
    assert declared(tool(), compat=Compat(loose_tools=None)) == (function(strict=None),)
    assert declared(tool(), compat=Compat(loose_tools=UNSET)) == (function(),)

from __future__ import annotations

import pytest
from msgspec import UNSET

from pi.ai.messages import Json, Tool
from pi.ai.wire.openai_responses.tools import (
    Compat,
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
def test_strictness_is_not_mentioned_to_servers_that_do_not_know_it() -> None:
    assert declared(tool(sampling=STRICT)) == (function(),)


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
def test_tools_are_strict_where_all_of_them_can_be() -> None:
    closed = {**CLOSED, "additionalProperties": False}

    items = declared(tool("a", STRICT), tool("b", STRICT), compat=STRICT_SERVER)

    assert items == (function("a", closed, strict=True), function("b", closed, strict=True))


@pytest.mark.behaviour("strict-schemas-only-where-accepted", "bad-schema-is-isolated")
def test_one_tool_that_cannot_be_strict_makes_all_of_them_loose() -> None:
    items = declared(tool("a", STRICT), tool("b", STRICT, **OPTIONAL), compat=STRICT_SERVER)

    assert items == (function("a", strict=False), function("b", OPTIONAL, strict=False))


def test_tools_are_loose_once_strictness_was_refused() -> None:
    items = declared(tool(sampling=STRICT), compat=STRICT_SERVER, refused=True)

    assert items == (function(strict=False),)


def test_a_grammar_makes_a_tool_that_takes_text() -> None:
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


def test_a_grammar_tool_is_a_function_where_grammars_are_unknown_or_cannot_be_mapped() -> None:
    two = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    compat = Compat(supports_grammar_tools=True)

    assert declared(tool(sampling=GRAMMAR)) == (function(),)
    assert declared(tool("b", GRAMMAR, **two), compat=compat) == (function("b", two),)
    assert declared(tool("c", {"type": "grammar", "variants": {}}), compat=compat) == (
        function("c"),
    )


@pytest.mark.behaviour("prompt-prefix-is-stable")
def test_tools_that_come_later_leave_the_head_of_the_request_as_it_was() -> None:
    messages = (system("", tool("a")), user("hi"), system("", tool("b"), tool("c")))
    tools = (tool("a"), tool("b"), tool("c"))

    box = pack_tools(messages, tools, IN_PLACE)

    assert box == ResponsesTools(
        first=(function("a"),),
        late={"b": function("b"), "c": function("c")},
        text_arguments={},
    )
    assert pack_tools(messages, tools, Compat()).late == {}


def test_a_tool_that_was_declared_anew_comes_where_it_was_declared_anew() -> None:
    messages = (system("", tool("a")), user("hi"), system("", tool("a", **OPTIONAL)))

    box = pack_tools(messages, (tool("a", **OPTIONAL),), IN_PLACE)

    assert (box.first, box.late) == ((), {"a": function("a", OPTIONAL)})


@pytest.mark.behaviour("no-tools-no-tool-fields")
def test_a_choice_that_names_an_absent_tool_is_dropped() -> None:
    box = ResponsesTools(first=(function("a"),), late={}, text_arguments={"t": "path"})
    texts = ResponsesTools(first=(function("t"),), late={}, text_arguments={"t": "path"})
    empty = ResponsesTools(first=(), late={}, text_arguments={})

    assert tool_choice({"type": "tool", "name": "gone"}, box) is None
    assert tool_choice({"type": "tool", "name": "a"}, box) == {"type": "function", "name": "a"}
    assert tool_choice({"type": "tool", "name": "t"}, texts) == {"type": "custom", "name": "t"}
    assert tool_choice("none", box) == "none"
    assert tool_choice("none", empty) is None
    assert tool_choice(None, box) is None


def test_loose_tools_may_be_said_to_be_neither() -> None:
    assert declared(tool(), compat=Compat(loose_tools=None)) == (function(strict=None),)
    assert declared(tool(), compat=Compat(loose_tools=UNSET)) == (function(),)

from __future__ import annotations

import pytest

from pi.ai.errors import BadRequest
from pi.ai.messages import Json, Message, Tool
from pi.ai.models.model import Model
from pi.ai.wire.anthropic_messages.request import encode
from pi.ai.wire.anthropic_messages.tools import PLACEHOLDER
from pi.ai.wire_support.repairs import Repairs
from tests.ai.wire.anthropic_messages.talk import (
    CACHE,
    IN_PLACE,
    PLAIN,
    call,
    model,
    own,
    system,
    tool,
    user,
)

PREFER = {"type": "json_schema", "strict": "prefer"}
REQUIRE = {"type": "json_schema", "strict": "require"}
STRICT = model({"supportsStrictTools": True})


def declared(
    *messages: Message, model: Model = PLAIN, repairs: Repairs | None = None
) -> list[Json]:
    payload = encode(call(*messages, model=model), repairs or Repairs())
    tools: list[Json] = payload.get("tools", [])
    return tools


def names(tools: list[Json]) -> list[str]:
    return [entry["name"] for entry in tools]


@pytest.mark.behaviour("no-tools-no-tool-fields")
def test_a_request_without_tools_has_no_tool_fields() -> None:
    payload = encode(call(system("S"), user("hi"), tool_choice="auto"))

    assert not payload.keys() & {"tools", "tool_choice"}


@pytest.mark.behaviour("no-tools-no-tool-fields")
@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        (None, None),
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ({"type": "any"}, {"type": "any"}),
        ({"type": "tool", "name": "peek"}, {"type": "tool", "name": "peek"}),
        ({"type": "tool", "name": "absent"}, None),
    ],
)
def test_a_tool_choice_is_sent_unless_it_forces_an_absent_tool(
    choice: Json | None, sent: Json | None
) -> None:
    payload = encode(call(system("", tool()), user("hi"), tool_choice=choice))

    assert payload.get("tool_choice") == sent


def test_a_server_without_eager_streaming_and_tool_caching_gets_neither() -> None:
    plain = model({"supportsEagerToolInputStreaming": False, "supportsCacheControlOnTools": False})

    assert declared(system("", tool()), user("hi"), model=plain) == [
        {
            "name": "peek",
            "description": "does peek",
            "input_schema": {"type": "object", "properties": {}, "required": []},
        }
    ]


def test_without_tool_changes_in_place_only_the_current_tools_are_declared() -> None:
    talk = (
        system("", tool("a"), tool("b")),
        user("1"),
        own("t"),
        system("", tool("c"), tools_removed=({"name": "a"},)),
        user("2"),
    )

    assert names(declared(*talk)) == ["b", "c"]


@pytest.mark.behaviour("prompt-prefix-is-stable")
def test_tools_added_later_are_appended_as_deferred() -> None:
    start = (system("", tool("a"), tool("b")), user("1"))
    change = (own("t"), system("", tool("c"), tools_removed=({"name": "a"},)), user("2"))

    first = declared(*start, model=model(IN_PLACE))
    later = declared(*start, *change, model=model(IN_PLACE))

    assert names(first) == ["a", "b", PLACEHOLDER["name"]]
    assert [entry.get("cache_control") for entry in first] == [None, CACHE, None]
    assert later[:-1] == first
    assert later[-1] == {
        "name": "c",
        "description": "does c",
        "eager_input_streaming": True,
        "input_schema": {"type": "object", "properties": {}, "required": []},
        "defer_loading": True,
    }


def test_a_conversation_that_began_without_tools_declares_the_current_ones() -> None:
    talk = (system("S"), user("1"), own("t"), system("", tool("a")), user("2"))

    payload = encode(call(*talk, model=model(IN_PLACE)))

    assert names(payload["tools"]) == ["a"]
    assert "betas" not in payload


def test_a_redeclared_tool_has_its_latest_declaration() -> None:
    newer = tool("a", type="object", properties={"n": {"type": "number"}})
    talk = (system("", tool("a")), user("1"), own("t"), system("", newer), user("2"))

    tools = declared(*talk, model=model(IN_PLACE))

    assert names(tools) == ["a", PLACEHOLDER["name"]]
    assert tools[0]["input_schema"] == newer.parameters


def test_a_forced_tool_must_still_be_offered() -> None:
    talk = (
        system("", tool("a"), tool("b")),
        user("1"),
        system("", tools_removed=({"name": "a"},)),
    )

    payload = encode(call(*talk, model=model(IN_PLACE), tool_choice={"type": "tool", "name": "a"}))

    assert "tool_choice" not in payload


# Strictness --------------------------------------------------------------------------------------


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
def test_strict_schemas_are_sent_only_to_servers_that_support_them() -> None:
    preferring = system("", tool("a", PREFER), tool("b", PREFER))

    strict = declared(preferring, user("hi"), model=STRICT)
    plain = declared(preferring, user("hi"))

    assert [entry.get("strict") for entry in strict] == [True, True]
    assert [entry["input_schema"]["additionalProperties"] for entry in strict] == [False, False]
    assert [entry.get("strict") for entry in plain] == [None, None]


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
@pytest.mark.parametrize(
    "other",
    [
        tool("b"),
        tool("b", PREFER, type="object", additionalProperties=True),
        tool("b", {"type": "grammar", "variants": {}}),
    ],
)
def test_strict_tools_are_never_mixed_with_loose_ones(other: Tool) -> None:
    tools = declared(system("", tool("a", PREFER), other), user("hi"), model=STRICT)

    assert [entry.get("strict") for entry in tools] == [None, None]


@pytest.mark.behaviour("strict-schemas-only-where-accepted")
def test_rejected_strict_is_not_sent() -> None:
    tools = declared(
        system("", tool("a", PREFER)), user("hi"), model=STRICT, repairs=Repairs(strict=True)
    )

    assert "strict" not in tools[0]


def test_a_tool_that_requires_strict_arguments_raises_if_they_are_unsupported() -> None:
    strict = declared(system("", tool("a", REQUIRE)), user("hi"), model=STRICT)

    assert strict[0]["strict"] is True
    with pytest.raises(BadRequest, match="The tool a requires strict arguments"):
        declared(system("", tool("a", REQUIRE)), user("hi"))


@pytest.mark.behaviour("bad-schema-is-isolated")
def test_a_rejected_tool_is_removed_from_the_whole_request() -> None:
    talk = (system("", tool("a"), tool("b")), user("1"), own("t"), system("", tool("c")), user("2"))

    payload = encode(call(*talk, model=model(IN_PLACE)), Repairs(tools=frozenset({"b", "c"})))

    assert names(payload["tools"]) == ["a", PLACEHOLDER["name"]]
    assert [message["role"] for message in payload["messages"]] == ["user", "assistant", "user"]

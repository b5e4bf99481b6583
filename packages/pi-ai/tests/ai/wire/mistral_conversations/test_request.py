from __future__ import annotations

from typing import Any

import pytest

from pi.ai.errors import BadRequest
from pi.ai.http.user_agent import user_agent
from pi.ai.messages import Json, SystemMessage, UserMessage
from pi.ai.wire.mistral_conversations.request import encode, headers, rest_body, url
from pi.base.records import replace
from tests.ai.wire.fixed_conversation import PEEK
from tests.ai.wire.mistral_conversations.calls import HELLO, TURN, call, model

SYSTEM = SystemMessage(content="S", tools_added=(PEEK,))


def test_a_request_with_only_a_message_has_a_minimal_payload() -> None:
    assert encode(call()) == {
        "model": "mistral-medium-latest",
        "stream": True,
        "messages": [{"role": "user", "content": "hello"}],
        "maxTokens": 1000,
    }


def test_options_of_the_caller_are_in_the_payload_and_sampling_parameters_come_last() -> None:
    target = model(sampling_params={"topP": 0.5, "randomSeed": 1})

    payload = encode(
        call(
            target=target,
            temperature=0,
            max_tokens=7,
            session_id="S",
            sampling_params={"randomSeed": 2, "temperature": 0.3},
        )
    )

    assert {name: payload[name] for name in list(payload)[3:]} == {
        "maxTokens": 7,
        "temperature": 0.3,
        "promptCacheKey": "S",
        "topP": 0.5,
        "randomSeed": 2,
    }


# Tools -------------------------------------------------------------------------------------------


@pytest.mark.behaviour("no-tools-no-tool-fields")
@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        (None, None),
        ("auto", "auto"),
        ("none", "none"),
        ({"type": "any"}, "any"),
        ({"type": "tool", "name": "peek"}, {"type": "function", "function": {"name": "peek"}}),
        ({"type": "tool", "name": "gone"}, None),
    ],
)
def test_tool_choices_are_encoded_in_the_format_of_the_wire(choice: Any, sent: Any) -> None:
    assert encode(call(SYSTEM, HELLO, tool_choice=choice)).get("toolChoice") == sent


@pytest.mark.behaviour("no-tools-no-tool-fields")
def test_a_request_without_tools_has_neither_tools_nor_a_tool_choice() -> None:
    payload = encode(call(HELLO, tool_choice="auto"))

    assert not payload.keys() & {"tools", "toolChoice"}


# Thinking ----------------------------------------------------------------------------------------


@pytest.mark.behaviour("thinking-off-is-explicit")
@pytest.mark.parametrize(
    ("id", "level", "words", "sent"),
    [
        ("magistral-medium-latest", "high", None, {"promptMode": "reasoning"}),
        ("magistral-medium-latest", "off", None, {}),
        ("mistral-medium-latest", "low", None, {"reasoningEffort": "high"}),
        ("mistral-medium-latest", "off", None, {"reasoningEffort": "none"}),
        ("mistral-large-4-0", "low", {"low": "low"}, {"reasoningEffort": "low"}),
    ],
)
def test_thinking_is_requested_in_the_format_of_the_model(
    id: str, level: Any, words: Any, sent: Json
) -> None:
    target = model(id, reasoning=True)
    if words is not None:
        target = replace(target, thinking_level_map=words)

    payload = encode(call(target=target, reasoning=level))

    assert {
        key: payload[key] for key in ("promptMode", "reasoningEffort") if key in payload
    } == sent


def test_a_model_without_reasoning_gets_no_reasoning_effort() -> None:
    assert "reasoningEffort" not in encode(call(reasoning="high"))


# System messages ---------------------------------------------------------------------------------

LATER = (SYSTEM, HELLO, SystemMessage(content="later"), UserMessage(content="b"))


def test_later_system_messages_are_merged_unless_the_model_supports_them() -> None:
    able = model(compat={"supportsMidConvoSystemMessages": True})

    joined = encode(call(*LATER))["messages"]
    kept = encode(call(*LATER, target=able))["messages"]

    hello, b = ({"role": "user", "content": text} for text in ("hello", "b"))
    assert joined == [{"role": "system", "content": "S\n\nlater"}, hello, b]
    assert kept == [
        {"role": "system", "content": "S"},
        hello,
        {"role": "system", "content": "later"},
        b,
    ]


def test_a_flag_of_the_wrong_type_raises_with_the_model() -> None:
    target = model("m", compat={"supportsMidConvoSystemMessages": 1})

    with pytest.raises(BadRequest, match="The compat flags of model 'm' cannot be read"):
        encode(call(target=target))


# HTTP --------------------------------------------------------------------------------------------


def test_the_body_has_the_field_names_of_the_rest_api_and_unchanged_content() -> None:
    parameters = {"type": "object", "properties": {"camelCase": {"maxLength": 1}}}
    tools = SystemMessage(content="S", tools_added=(replace(PEEK, parameters=parameters),))
    forced = {"type": "tool", "name": "peek"}
    payload = encode(call(tools, *TURN[1:], session_id="S", tool_choice=forced))

    body = rest_body(payload)

    assert list(body) == [
        "model",
        "stream",
        "messages",
        "tools",
        "tool_choice",
        "max_tokens",
        "prompt_cache_key",
    ]
    assert body["tools"] == payload["tools"]
    assert [list(message) for message in body["messages"]] == [
        ["role", "content"],
        ["role", "content"],
        ["role", "prefix", "content", "tool_calls"],
        ["role", "tool_call_id", "name", "content"],
        ["role", "tool_call_id", "name", "content"],
        ["role", "prefix", "content"],
        ["role", "content"],
    ]
    assert list(body["messages"][1]["content"][1]) == ["type", "image_url"]


@pytest.mark.parametrize("base_url", ["https://host.test", "https://host.test/v1/"])
def test_the_version_is_in_the_address_once(base_url: str) -> None:
    asked = call(target=model(base_url=base_url))

    assert url(asked) == "https://host.test/v1/chat/completions"


def test_the_session_is_sent_only_if_caching_is_on() -> None:
    cached = call(session_id="S")
    unwanted = call(session_id="S", cache_retention="none")

    fixed = {
        "Content-Type": "application/json",
        "User-Agent": user_agent(),
        "Authorization": "Bearer KEY",
    }
    assert headers(cached) == {**fixed, "x-affinity": "S"}
    assert headers(unwanted) == fixed
    assert "promptCacheKey" not in encode(unwanted)

from __future__ import annotations

from typing import Any

import pytest

from pi.ai.messages import Json, Message, SystemMessage, Text, UserMessage
from pi.ai.wire.bedrock_converse.request import encode
from tests.ai.wire.bedrock_converse.calls import (
    HELLO,
    SONNET,
    assistant_message,
    call,
    model,
    peek,
    result,
)
from tests.ai.wire.fixed_conversation import PEEK

POINT = {"cachePoint": {"type": "default"}}
HOUR = {"cachePoint": {"type": "default", "ttl": "1h"}}
SYSTEM = SystemMessage(content="SYS", tools_added=(PEEK,))


def test_a_request_with_only_a_message_has_a_minimal_payload() -> None:
    payload = encode(call(HELLO, target=model("meta.llama3-1-8b-instruct-v1:0", max_tokens=4096)))

    assert payload == {
        "modelId": "meta.llama3-1-8b-instruct-v1:0",
        "messages": [{"role": "user", "content": [{"text": "hello"}]}],
        "inferenceConfig": {"maxTokens": 4096},
    }


# Limits ------------------------------------------------------------------------------------------


@pytest.mark.behaviour("output-cap-is-sane", "bedrock-request-rules")
@pytest.mark.parametrize(
    ("known", "requested", "sent"), [(32_000, None, 32_000), (32_000, 500, 500), (0, None, 4096)]
)
def test_an_output_cap_is_always_sent(known: int, requested: int | None, sent: int) -> None:
    payload = encode(call(HELLO, target=model(max_tokens=known), max_tokens=requested))

    assert payload["inferenceConfig"] == {"maxTokens": sent}


def test_a_nova_model_at_high_reasoning_gets_no_inference_limits() -> None:
    nova = model("us.amazon.nova-2-lite-v1:0")

    assert "inferenceConfig" not in encode(call(target=nova, reasoning="high", temperature=0.5))
    assert encode(call(target=nova, reasoning="low", temperature=0.5))["inferenceConfig"] == {
        "maxTokens": 32_000,
        "temperature": 0.5,
    }


@pytest.mark.behaviour("anthropic-thinking-budget")
@pytest.mark.parametrize(
    ("id", "level", "sent"),
    [
        (SONNET, "off", True),
        (SONNET, "high", False),
        ("us.anthropic.claude-opus-4-7", "off", False),
        ("openai.gpt-oss-20b-1:0", "high", True),
    ],
)
def test_a_temperature_is_sent_only_to_models_that_support_it(
    id: str, level: Any, sent: bool
) -> None:
    payload = encode(call(target=model(id), reasoning=level, temperature=0))

    assert ("temperature" in payload["inferenceConfig"]) is sent


def test_a_forced_call_disables_thinking() -> None:
    forced = {"type": "tool", "name": "peek"}

    payload = encode(call(SYSTEM, HELLO, reasoning="high", tool_choice=forced))
    auto = encode(call(SYSTEM, HELLO, reasoning="high", tool_choice="auto"))

    assert payload["toolConfig"]["toolChoice"] == {"tool": {"name": "peek"}}
    assert "additionalModelRequestFields" not in payload
    assert "thinking" in auto["additionalModelRequestFields"]


# Caching -----------------------------------------------------------------------------------------


@pytest.mark.behaviour("bedrock-request-rules")
@pytest.mark.parametrize(
    ("id", "retention", "point"),
    [
        ("us.anthropic.claude-opus-4-6-v1", "short", POINT),
        ("us.anthropic.claude-opus-4-6-v1", "long", HOUR),
        ("us.anthropic.claude-opus-4-6-v1", "none", None),
        ("us.amazon.nova-pro-v1:0", "long", POINT),
        ("openai.gpt-5.5", "short", None),
        ("anthropic.claude-3-haiku-20240307-v1:0", "short", None),
    ],
)
def test_cache_points_are_set_only_for_models_that_support_them(
    id: str, retention: Any, point: Json | None
) -> None:
    payload = encode(call(target=model(id), cache_retention=retention))

    added = [] if point is None else [point]
    assert payload["system"] == [{"text": "SYS"}, *added]
    assert payload["messages"] == [{"role": "user", "content": [{"text": "hello"}, *added]}]


def test_the_cache_point_follows_the_tool_results() -> None:
    messages: tuple[Message, ...] = (
        HELLO,
        assistant_message(peek()),
        result("call_1", Text(text="R")),
    )

    payload = encode(call(SYSTEM, *messages))

    assert payload["messages"][-1]["content"][-1] == POINT


def test_no_cache_point_follows_an_assistant_message() -> None:
    payload = encode(call(HELLO, assistant_message(Text(text="I"))))

    assert payload["messages"][-1] == {"role": "assistant", "content": [{"text": "I"}]}


# System messages ---------------------------------------------------------------------------------


def test_later_system_messages_are_merged_into_the_first() -> None:
    payload = encode(call(SYSTEM, HELLO, SystemMessage(content="more"), UserMessage(content="x")))

    assert payload["system"] == [{"text": "SYS\n\nmore"}, POINT]
    assert [message["role"] for message in payload["messages"]] == ["user", "user"]


def test_a_blank_system_prompt_is_left_out() -> None:
    assert "system" not in encode(call(SystemMessage(content=" "), HELLO))


def test_only_metadata_with_valid_names_and_values_is_sent() -> None:
    many = {f"k{number}": "v" for number in range(20)}
    odd = {"é": "v", "k": "ü", "n": 7, "": "v", "long": "x" * 257}

    assert encode(call(metadata={"team": "a b", **odd}))["requestMetadata"] == {"team": "a b"}
    assert len(encode(call(metadata=many))["requestMetadata"]) == 16
    assert "requestMetadata" not in encode(call(metadata=odd))

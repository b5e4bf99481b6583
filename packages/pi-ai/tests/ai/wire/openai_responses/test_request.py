from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from pi.ai.json_text import json_bytes
from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.ai.request import Access
from pi.ai.wire.openai_responses.compat import Compat
from pi.ai.wire.openai_responses.request import answer_items, encode, headers, url
from pi.ai.wire_support.exchange import final_headers
from tests.ai.wire.openai_responses.talk import (
    IN_PLACE,
    MODEL,
    asks,
    call,
    model,
    own,
    result,
    system,
    thought,
    tool,
    user,
)

LONG = "s" * 65


def body(model: Model = MODEL, **options: Any) -> Json:
    return encode(call(system("SP", tool()), user("hi"), model=model, **options))


def fields(body: Json, *names: str) -> Json:
    return {name: body[name] for name in names if name in body}


# Thinking ----------------------------------------------------------------------------------------


@pytest.mark.behaviour("thinking-off-is-explicit")
@pytest.mark.parametrize(
    ("words", "level", "expected"),
    [
        (None, "off", {"effort": "none"}),
        ({"off": "minimal"}, "off", {"effort": "minimal"}),
        ({"off": None}, "off", None),
        (None, "low", {"effort": "low", "summary": "auto"}),
        ({"xhigh": "maximal"}, "xhigh", {"effort": "maximal", "summary": "auto"}),
    ],
)
def test_the_thinking_level_is_sent_with_the_name_of_the_model(
    words: dict[str, str | None] | None, level: str, expected: Json | None
) -> None:
    made = body(model(thinking_level_map=words or {}), reasoning=level)

    assert made.get("reasoning") == expected
    assert ("include" in made) is (level != "off")


def test_a_model_without_reasoning_gets_no_reasoning_fields() -> None:
    made = body(model(reasoning=False), reasoning="high")

    assert fields(made, "reasoning", "include") == {}
    assert made["input"][0] == {"role": "system", "content": "SP"}


def test_a_server_without_effort_levels_gets_only_the_summary_field() -> None:
    mute = model({"supportsReasoningEffort": False})

    assert body(mute, reasoning="high")["reasoning"] == {"summary": "auto"}
    assert "reasoning" not in body(mute)


# Caching -----------------------------------------------------------------------------------------


@pytest.mark.behaviour("responses-ids-and-lost-state")
def test_a_long_session_id_is_hashed_wherever_it_is_sent() -> None:
    asked = call(session_id=LONG)

    key = encode(asked)["prompt_cache_key"]

    assert len(key) == 64
    assert fields(headers(asked), "session-id", "x-client-request-id") == {
        "session-id": key,
        "x-client-request-id": key,
    }


@pytest.mark.parametrize(
    ("compat", "retention", "expected"),
    [
        ({}, "short", {"prompt_cache_key": "S"}),
        ({}, "long", {"prompt_cache_key": "S", "prompt_cache_retention": "24h"}),
        ({"supportsLongCacheRetention": False}, "long", {"prompt_cache_key": "S"}),
        ({}, "none", {}),
        (
            {"supportsExplicitPromptCacheMode": True},
            "none",
            {"prompt_cache_options": {"mode": "explicit"}},
        ),
    ],
)
def test_the_requested_cache_retention_is_sent(
    compat: Json, retention: str, expected: Json
) -> None:
    made = body(model(compat), session_id="S", cache_retention=retention)

    names = ("prompt_cache_key", "prompt_cache_retention", "prompt_cache_options")
    assert fields(made, *names) == expected


def test_the_session_headers_have_the_format_of_the_gateway() -> None:
    routes = {
        form: set(headers(call(model=model({"sessionAffinityFormat": form}), session_id="S")))
        - set(headers(call()))
        for form in ("openai", "openai-nosession", "openrouter")
    }

    assert routes == {
        "openai": {"session-id", "x-client-request-id"},
        "openai-nosession": {"x-client-request-id"},
        "openrouter": {"x-session-id"},
    }
    assert headers(call(session_id="S", cache_retention="none")) == headers(call())


@pytest.mark.behaviour("prompt-prefix-is-stable")
def test_a_later_turn_begins_with_the_bytes_of_an_earlier_one() -> None:
    history = (
        system("SP", tool("b"), tool("a")),
        user("hi"),
        own(thought(encrypted_content="E"), "so", asks(path="ü")),
        result("call_1|fc_1", "R"),
        user("go"),
        system("later", tool("c")),
        user("on"),
    )
    thinking = model(IN_PLACE)

    bodies = [encode(call(*history[:end], model=thinking, session_id="S")) for end in (2, 4, 5, 7)]

    for shorter, longer in pairwise(bodies):
        assert longer["input"][: len(shorter["input"])] == shorter["input"]
        assert {**longer, "input": []} == {**shorter, "input": []}
    assert json_bytes(bodies[-1]) == json_bytes(
        encode(call(*history, model=thinking, session_id="S"))
    )


# The rest ----------------------------------------------------------------------------------------


@pytest.mark.behaviour("no-tools-no-tool-fields")
def test_a_request_without_tools_has_neither_tools_nor_a_tool_choice() -> None:
    made = encode(call(user("hi"), tool_choice="auto"))

    assert fields(made, "tools", "tool_choice") == {}
    assert body(tool_choice={"type": "tool", "name": "peek"})["tool_choice"] == {
        "type": "function",
        "name": "peek",
    }


@pytest.mark.behaviour("responses-reasoning-items")
def test_responses_are_not_stored_at_the_server_by_default() -> None:
    assert body()["store"] is False


@pytest.mark.behaviour("output-cap-is-sane")
def test_the_output_limit_is_raised_to_the_minimum_of_the_server() -> None:
    assert body(max_tokens=3)["max_output_tokens"] == 16
    assert body()["max_output_tokens"] == 8000
    assert "max_output_tokens" not in body(model({"supportsMaxOutputTokens": False}))


def test_sampling_parameters_of_the_caller_override_those_of_the_model() -> None:
    warm = model(sampling_params={"top_p": 0.5, "service_tier": "flex"})

    made = body(warm, temperature=0.2, sampling_params={"top_p": 0.9})

    assert fields(made, "temperature", "top_p", "service_tier") == {
        "temperature": 0.2,
        "top_p": 0.9,
        "service_tier": "flex",
    }


def test_the_role_of_instructions_depends_on_the_server() -> None:
    old = model({"supportsDeveloperRole": False})

    assert body()["input"][0]["role"] == "developer"
    assert body(old)["input"][0]["role"] == "system"
    assert encode(call(user("hi")))["input"] == [
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    ]


def test_no_authorization_header_is_sent_without_a_key() -> None:
    local = call(access=Access())

    assert "authorization" not in dict(final_headers(local, headers(local)))
    assert url(local) == "http://127.0.0.1:1/v1/responses"


def test_an_answer_encoded_alone_equals_its_items_in_the_next_request() -> None:
    asked = call(system("SP", tool()), user("hi"))
    answer = own(thought(encrypted_content="E"), asks(path="x"))
    following = call(*asked.messages, answer, result("call_1|fc_1", "R"))

    items = answer_items(asked, Compat(), answer)

    first, second = encode(asked)["input"], encode(following)["input"]
    assert second[: len(first) + len(items)] == [*first, *items]

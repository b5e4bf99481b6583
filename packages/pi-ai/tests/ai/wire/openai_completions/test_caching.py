from __future__ import annotations

from typing import Any

import pytest

from pi.ai.messages import Image, Json, Message, SystemMessage, Text, UserMessage
from pi.ai.request import CacheRetention, StreamOptions
from pi.ai.wire.openai_completions.request import encode, headers
from tests.ai.wire.openai_completions.chats import (
    PEEK,
    answered,
    call_with,
    model_with,
    peeked,
    resulted,
)

SESSION = "s" * 80
MARK = {"type": "ephemeral"}


def body(*messages: Message, retention: CacheRetention = "short", **fields: Any) -> Json:
    options = StreamOptions(session_id=SESSION, cache_retention=retention)
    return encode(call_with(*messages, model=model_with(**fields), options=options))


def cache_fields(retention: CacheRetention, **fields: Any) -> Json:
    return {
        name: value
        for name, value in body(retention=retention, **fields).items()
        if name.startswith("prompt_cache")
    }


def test_the_cache_key_for_openai_has_at_most_64_characters() -> None:
    openai = "https://api.openai.com/v1"

    assert cache_fields("short", baseUrl=openai) == {"prompt_cache_key": SESSION[:64]}
    assert cache_fields("long", baseUrl=openai) == {
        "prompt_cache_key": SESSION[:64],
        "prompt_cache_retention": "24h",
    }
    assert cache_fields("none", baseUrl=openai) == {}


def test_other_servers_get_cache_fields_only_for_a_supported_long_cache() -> None:
    assert cache_fields("short") == {}
    assert cache_fields("long") == {
        "prompt_cache_key": SESSION[:64],
        "prompt_cache_retention": "24h",
    }
    assert cache_fields("long", compat={"supportsLongCacheRetention": False}) == {}


ANTHROPIC = {"cacheControlFormat": "anthropic"}
SYSTEM = SystemMessage(content="S", tools_added=(PEEK,))


@pytest.mark.parametrize(
    ("retention", "flags", "mark"),
    [
        ("short", {}, MARK),
        ("long", {}, {**MARK, "ttl": "1h"}),
        ("long", {"supportsLongCacheRetention": False}, MARK),
    ],
)
def test_a_breakpoint_has_the_requested_cache_duration(
    retention: CacheRetention, flags: Json, mark: Json
) -> None:
    sent = body(SYSTEM, UserMessage(content="a"), retention=retention, compat=ANTHROPIC | flags)

    assert sent["messages"][0]["content"] == [{"type": "text", "text": "S", "cache_control": mark}]
    assert sent["messages"][1]["content"] == [{"type": "text", "text": "a", "cache_control": mark}]
    assert sent["tools"][-1]["cache_control"] == mark
    assert "prompt_cache_retention" not in sent


def test_no_cache_breakpoints_are_set_when_caching_is_off() -> None:
    sent = body(SYSTEM, UserMessage(content="a"), retention="none", compat=ANTHROPIC)

    assert "cache_control" not in str(sent)


def test_the_latest_result_of_a_tool_is_a_breakpoint_too() -> None:
    model = model_with(ANTHROPIC)

    sent = body(
        UserMessage(content="a"),
        answered(peeked("c"), model=model),
        resulted("c", Text(text="R")),
        compat=ANTHROPIC,
    )

    assert sent["messages"][0] == {"role": "user", "content": "a"}
    assert sent["messages"][2]["content"] == [{"type": "text", "text": "R", "cache_control": MARK}]


def test_the_breakpoint_is_set_on_text_if_the_message_has_any() -> None:
    picture = Image(data="AAAA", mime_type="image/png")

    both = body(UserMessage(content=(Text(text="a"), picture)), compat=ANTHROPIC)
    alone = body(UserMessage(content=(picture,)), compat=ANTHROPIC)

    assert [("cache_control" in part) for part in both["messages"][0]["content"]] == [True, False]
    assert alone["messages"][0]["content"][0]["cache_control"] == MARK


STICKY = {"sendSessionAffinityHeaders": True}


@pytest.mark.parametrize(
    ("flags", "names"),
    [
        ({}, {"session_id", "x-client-request-id", "x-session-affinity"}),
        (
            {"sessionAffinityFormat": "openai-nosession"},
            {"x-client-request-id", "x-session-affinity"},
        ),
        ({"sessionAffinityFormat": "openrouter"}, {"x-session-id"}),
    ],
)
def test_the_session_is_sent_in_the_headers_of_the_server(flags: Json, names: set[str]) -> None:
    options = StreamOptions(session_id="SESS")

    sent = headers(call_with(model=model_with(STICKY | flags), options=options))

    assert {name for name, value in sent.items() if value == "SESS"} == names


def test_no_affinity_header_is_sent_without_a_session_or_a_cache() -> None:
    model = model_with(STICKY)
    uncached = StreamOptions(session_id="SESS", cache_retention="none")

    assert "session_id" not in headers(call_with(model=model))
    assert "session_id" not in headers(call_with(model=model, options=uncached))

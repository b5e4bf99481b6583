from __future__ import annotations

import pytest

from pi.ai.http.user_agent import user_agent
from pi.ai.messages import Json, Thinking
from pi.ai.request import Access
from pi.ai.wire.anthropic_messages.request import encode, headers, url
from pi.ai.wire_support.repairs import Repairs
from tests.ai.wire.anthropic_messages.talk import (
    CACHE,
    IN_PLACE,
    PLAIN,
    asks,
    call,
    model,
    own,
    result,
    system,
    tool,
    user,
)

HOUR = {"type": "ephemeral", "ttl": "1h"}
COMMON = {
    "anthropic-version": "2023-06-01",
    "User-Agent": user_agent(),
    "anthropic-dangerous-direct-browser-access": "true",
    "content-type": "application/json",
}


def test_the_url_is_below_the_base_url_of_the_credential_or_the_model() -> None:
    there = Access(base_url="https://token.example/x/")

    assert url(call()) == "http://127.0.0.1:1/v1/messages?beta=true"
    assert url(call(access=there)) == "https://token.example/x/v1/messages?beta=true"


@pytest.mark.parametrize(
    ("access", "expected"),
    [
        (Access(api_key="KEY", kind="api_key"), {"x-api-key": "KEY", "anthropic-beta": "a,b"}),
        (
            Access(api_key="KEY", kind="oauth"),
            {"Authorization": "Bearer KEY", "anthropic-beta": "oauth-2025-04-20,a,b"},
        ),
        (
            Access(api_key="KEY", kind="oauth", headers={"authorization": "Bearer OTHER"}),
            {"anthropic-beta": "a,b"},
        ),
        (Access(), {"anthropic-beta": "a,b"}),
    ],
)
def test_the_credential_decides_how_the_key_is_sent(access: Access, expected: Json) -> None:
    assert headers(call(access=access), ["a", "b"]) == {**COMMON, **expected}


def test_the_session_header_is_sent_only_if_it_is_supported_and_known() -> None:
    affine = model({"sendSessionAffinityHeaders": True})

    assert headers(call(model=affine, session_id="S"))["x-session-affinity"] == "S"
    assert "x-session-affinity" not in headers(call(model=affine))
    assert "x-session-affinity" not in headers(call(session_id="S"))


@pytest.mark.parametrize(
    ("retention", "supported", "mark"),
    [("none", True, None), ("short", True, CACHE), ("long", True, HOUR), ("long", False, CACHE)],
)
def test_the_cache_retention_is_the_requested_one_if_it_is_supported(
    retention: str, supported: bool, mark: Json | None
) -> None:
    target = model({"supportsLongCacheRetention": supported})
    payload = encode(call(system("S", tool()), user("hi"), model=target, cache_retention=retention))

    user_block = payload["messages"][0]["content"]
    marks = [
        payload["system"][0].get("cache_control"),
        payload["tools"][-1].get("cache_control"),
        None if isinstance(user_block, str) else user_block[-1].get("cache_control"),
    ]
    assert marks == [mark] * 3


def test_a_blank_prompt_is_not_sent() -> None:
    assert encode(call(system(" \n"), user("hi"))) == {
        "model": "m",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": CACHE}]}
        ],
        "max_tokens": 8000,
        "stream": True,
        "thinking": {"type": "disabled"},
    }


def test_of_the_metadata_only_the_user_is_sent() -> None:
    assert encode(call(metadata={"user_id": "u", "x": 1}))["metadata"] == {"user_id": "u"}
    assert "metadata" not in encode(call(metadata={"user_id": 7}))


def test_allowed_fallback_models_are_sent() -> None:
    target = model({"allowedFallbackModels": [{"model": "b"}, {"model": "c"}]})

    payload = encode(call(model=target))

    assert payload["fallbacks"] == [{"model": "b"}, {"model": "c"}]
    assert payload["betas"] == ["server-side-fallback-2026-06-01"]


def test_every_used_beta_feature_is_listed_in_a_fixed_order() -> None:
    target = model(
        {
            **IN_PLACE,
            "supportsMidConvoEffort": True,
            "supportsEagerToolInputStreaming": False,
            "allowedFallbackModels": [{"model": "b"}],
        }
    )

    payload = encode(call(system("", tool()), user("hi"), model=target, reasoning="low"))

    assert payload["betas"] == [
        "fine-grained-tool-streaming-2025-05-14",
        "interleaved-thinking-2025-05-14",
        "mid-conversation-output-config-2026-07-01",
        "mid-conversation-tool-changes-2026-07-01",
        "server-side-fallback-2026-06-01",
    ]


def test_a_repaired_request_has_no_thinking_blocks_and_disables_thinking_if_required() -> None:
    thought = Thinking(thinking="hm", thinking_signature="bad")
    in_a_turn = (user("a"), own(thought, asks("c1")), result("c1", "R"))
    new_turn = (*in_a_turn, own(thought, "t"), user("b"))
    adaptive = model({"forceAdaptiveThinking": True})

    repaired = [
        encode(call(*talk, model=target, reasoning="high"), Repairs(thinking=True))
        for talk, target in ((in_a_turn, PLAIN), (in_a_turn, adaptive), (new_turn, PLAIN))
    ]

    assert not any("hm" in str(payload["messages"]) for payload in repaired)
    assert [payload["thinking"]["type"] for payload in repaired] == [
        "disabled",
        "adaptive",
        "enabled",
    ]

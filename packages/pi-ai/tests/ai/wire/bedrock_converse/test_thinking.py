from __future__ import annotations

from typing import Any

import pytest

from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.ai.wire.bedrock_converse.compat import compat_of
from pi.ai.wire.bedrock_converse.thinking import thinking_fields, thinks_without_limits
from tests.ai.wire.bedrock_converse.calls import SONNET, call, model

BETA = ["interleaved-thinking-2025-05-14"]


def fields(target: Model, *, cap: int = 32_000, forced: bool = False, **options: Any) -> Json:
    return thinking_fields(
        call(target=target, **options), compat_of(target), cap=cap, forced=forced
    )


def effort(level: str) -> Json:
    return {
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": level},
    }


def budget(tokens: int, **more: Any) -> Json:
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}, **more}


@pytest.mark.behaviour("anthropic-thinking-budget")
def test_new_claudes_get_an_effort_and_no_budget() -> None:
    opus = model(thinking_level_map={"max": "max"})

    assert fields(opus, reasoning="high") == effort("high")
    assert fields(opus, reasoning="minimal") == effort("low")
    assert fields(opus, reasoning="max") == effort("max")
    assert fields(opus) == {}


@pytest.mark.behaviour("anthropic-thinking-budget")
def test_older_claudes_get_a_budget_that_leaves_room_for_an_answer() -> None:
    sonnet = model(SONNET)

    assert fields(sonnet, reasoning="high") == budget(16_384, anthropic_beta=BETA)
    assert fields(sonnet, reasoning="high", cap=4096) == budget(3072, anthropic_beta=BETA)
    assert fields(sonnet, reasoning="low", thinking_budgets={"low": 5}) == budget(
        1024, anthropic_beta=BETA
    )
    assert fields(sonnet, reasoning="high", cap=2000) == {}
    assert fields(model("claude-3-7-sonnet-20250219-v1:0"), reasoning="low") == budget(2048)


@pytest.mark.parametrize("id", [SONNET, "anthropic.claude-opus-5"])
def test_claude_does_not_think_before_a_forced_call(id: str) -> None:
    assert fields(model(id), reasoning="high", forced=True) == {}


@pytest.mark.parametrize(
    ("id", "expected"),
    [
        (
            "us.amazon.nova-2-lite-v1:0",
            {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "medium"}},
        ),
        ("openai.gpt-5.5", {"reasoning": {"effort": "medium"}}),
        ("openai.gpt-oss-20b-1:0", {"reasoning_effort": "medium"}),
        ("qwen.qwen3-32b-v1:0", {}),
    ],
)
def test_thinking_fields_have_the_format_of_each_vendor(id: str, expected: Json) -> None:
    assert fields(model(id), reasoning="medium") == expected


def test_off_is_sent_only_to_models_with_a_name_for_it() -> None:
    assert fields(model("openai.gpt-5.5")) == {}
    assert fields(model("openai.gpt-5.5", thinking_level_map={"off": "none"})) == {
        "reasoning": {"effort": "none"}
    }


def test_a_model_without_reasoning_gets_no_thinking_fields() -> None:
    assert fields(model(reasoning=False), reasoning="high") == {}


def test_only_a_nova_model_at_high_reasoning_thinks_without_limits() -> None:
    nova = model("us.amazon.nova-2-lite-v1:0")

    assert thinks_without_limits(fields(nova, reasoning="high"))
    assert not thinks_without_limits(fields(nova, reasoning="low"))
    assert not thinks_without_limits(fields(model(), reasoning="high"))

from __future__ import annotations

import pytest
from msgspec import UNSET

from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import ThinkingLevel
from pi.ai.request import Call, StreamOptions
from pi.ai.wire.google_generate.compat import compat_of
from pi.ai.wire.google_generate.thinking import thinking_config

WORDS = {"off": None, "minimal": None, "low": "low", "medium": "medium", "high": "high"}


def config(
    model_id: str,
    level: ThinkingLevel,
    *,
    words: dict[str, str | None] | None = None,
    reasoning: bool = True,
    max_tokens: int = 65_536,
    budgets: dict[str, int] | None = None,
) -> Json | None:
    model = Model(
        id=model_id,
        name=model_id,
        api="google-generative-ai",
        provider="google",
        reasoning=reasoning,
        thinking_level_map=UNSET if words is None else words,
        max_tokens=max_tokens,
    )
    options = StreamOptions(reasoning=level, thinking_budgets=budgets)
    return thinking_config(Call(model=model, messages=(), options=options), compat_of(model))


def test_a_model_without_reasoning_gets_no_thinking_config() -> None:
    assert config("gemini-2.0-flash", "high", reasoning=False) is None


@pytest.mark.behaviour("thinking-off-is-explicit")
@pytest.mark.parametrize(
    ("model_id", "words", "expected"),
    [
        ("gemini-3.1-pro-preview", WORDS, {"thinkingLevel": "LOW"}),
        ("gemini-3-flash", {**WORDS, "minimal": "minimal"}, {"thinkingLevel": "MINIMAL"}),
        ("gemma-4-31b-it", {"off": None, "minimal": "MINIMAL"}, {"thinkingLevel": "MINIMAL"}),
        ("gemini-3-pro-preview", None, {"thinkingLevel": "LOW"}),
        ("gemini-2.5-flash", None, {"thinkingBudget": 0}),
        ("gemini-2.5-flash-lite", None, {"thinkingBudget": 0}),
        ("gemini-2.5-pro", None, {"thinkingBudget": 128}),
    ],
)
def test_off_is_sent_as_the_lowest_level_of_the_model(
    model_id: str, words: dict[str, str | None] | None, expected: Json
) -> None:
    assert config(model_id, "off", words=words) == expected


@pytest.mark.parametrize(
    ("model_id", "level", "words", "expected"),
    [
        ("gemini-3.1-pro-preview", "medium", WORDS, {"thinkingLevel": "MEDIUM"}),
        ("gemini-3-flash", "high", None, {"thinkingLevel": "HIGH"}),
        ("gemini-flash-latest", "low", None, {"thinkingLevel": "LOW"}),
        ("gemini-2.5-flash", "minimal", None, {"thinkingBudget": 1024}),
        ("gemini-2.5-flash", "medium", None, {"thinkingBudget": 8192}),
        ("gemini-2.5-pro", "high", None, {"thinkingBudget": 16_384}),
    ],
)
def test_a_level_is_sent_as_a_name_or_as_a_token_budget(
    model_id: str, level: ThinkingLevel, words: dict[str, str | None] | None, expected: Json
) -> None:
    assert config(model_id, level, words=words) == {"includeThoughts": True, **expected}


@pytest.mark.parametrize(
    ("model_id", "max_tokens", "requested", "budget"),
    [
        ("gemini-2.5-pro", 65_536, 40_000, 32_768),
        ("gemini-2.5-flash", 65_536, 40_000, 24_576),
        ("gemini-2.5-pro", 1024, 40_000, 128),
        ("gemini-2.5-flash", 4096, 40_000, 3072),
    ],
)
def test_a_budget_is_within_the_model_limits_and_leaves_tokens_for_the_answer(
    model_id: str, max_tokens: int, requested: int, budget: int
) -> None:
    sent = config(model_id, "high", max_tokens=max_tokens, budgets={"high": requested})

    assert sent == {"includeThoughts": True, "thinkingBudget": budget}

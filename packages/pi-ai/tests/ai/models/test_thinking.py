from __future__ import annotations

import pytest

from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import (
    THINKING_LEVELS,
    ThinkingLevel,
    clamp_level,
    level_word,
    supported_levels,
    thinking_budget,
)


def model(words: dict[str, str | None] | None = None, *, reasoning: bool = True) -> Model:
    plain = Model(id="m", name="M", api="a", provider="p", reasoning=reasoning)
    if words is None:
        return plain
    return Model(
        id="m", name="M", api="a", provider="p", reasoning=reasoning, thinking_level_map=words
    )


def test_a_model_without_reasoning_supports_only_off() -> None:
    assert supported_levels(model(reasoning=False)) == ("off",)


def test_the_two_highest_levels_are_opt_in_and_the_others_opt_out() -> None:
    assert supported_levels(model()) == ("off", "minimal", "low", "medium", "high")
    assert supported_levels(model({"max": "max", "off": None})) == (
        "minimal",
        "low",
        "medium",
        "high",
        "max",
    )


@pytest.mark.behaviour("thinking-off-is-explicit")
@pytest.mark.parametrize(
    ("words", "requested", "given"),
    [
        ({"off": None, "minimal": None, "low": None}, "minimal", "medium"),
        (None, "max", "high"),
        ({"off": None}, "off", "minimal"),
        ({"high": None}, "high", "medium"),
        ({"xhigh": "xhigh"}, "xhigh", "xhigh"),
    ],
)
def test_an_unsupported_level_is_clamped_to_the_next_higher_or_else_lower_level(
    words: dict[str, str | None] | None, requested: ThinkingLevel, given: ThinkingLevel
) -> None:
    assert clamp_level(model(words), requested) == given


@pytest.mark.parametrize("level", THINKING_LEVELS)
def test_every_level_is_clamped_to_a_supported_level(level: ThinkingLevel) -> None:
    denials: list[dict[str, str | None]] = [{}, {"off": None}, dict.fromkeys(THINKING_LEVELS)]
    for words in denials:
        chosen = model(words)
        assert clamp_level(chosen, level) in (*supported_levels(chosen), "off")


def test_a_level_can_be_mapped_to_the_name_of_the_provider() -> None:
    assert level_word(model({"minimal": "low"}), "minimal") == "low"
    assert level_word(model(), "minimal") == "minimal"


def test_the_thinking_budget_leaves_tokens_for_the_answer() -> None:
    assert thinking_budget("high", 128_000) == 16_384
    assert thinking_budget("max", 128_000) == 16_384
    assert thinking_budget("high", 8000) == 6976
    assert thinking_budget("low", 500) == 0
    assert thinking_budget("low", 128_000, {"low": 99}) == 99

from __future__ import annotations

import pytest

from pi.ai.models.model import (
    THINKING_LEVELS,
    Model,
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


def test_a_model_that_cannot_think_is_off_and_nothing_else() -> None:
    assert supported_levels(model(reasoning=False)) == ("off",)


def test_the_two_highest_levels_must_be_offered_and_the_others_may_be_denied() -> None:
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
def test_a_level_the_model_lacks_becomes_the_next_above_or_else_below(
    words: dict[str, str | None] | None, requested: ThinkingLevel, given: ThinkingLevel
) -> None:
    assert clamp_level(model(words), requested) == given


@pytest.mark.parametrize("level", THINKING_LEVELS)
def test_every_level_clamps_to_one_that_the_model_has(level: ThinkingLevel) -> None:
    denials: list[dict[str, str | None]] = [{}, {"off": None}, dict.fromkeys(THINKING_LEVELS)]
    for words in denials:
        chosen = model(words)
        assert clamp_level(chosen, level) in (*supported_levels(chosen), "off")


def test_a_provider_may_have_its_own_word_for_a_level() -> None:
    assert level_word(model({"minimal": "low"}), "minimal") == "low"
    assert level_word(model(), "minimal") == "minimal"


def test_thinking_leaves_room_for_an_answer() -> None:
    assert thinking_budget("high", 128_000) == 16_384
    assert thinking_budget("max", 128_000) == 16_384
    assert thinking_budget("high", 8000) == 6976
    assert thinking_budget("low", 500) == 0
    assert thinking_budget("low", 128_000, {"low": 99}) == 99

from __future__ import annotations

from typing import Any

import pytest

from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.ai.wire.anthropic_messages.compat import compat_of
from pi.ai.wire.anthropic_messages.request import encode
from pi.ai.wire.anthropic_messages.thinking import (
    Efforts,
    ThinkingPlan,
    efforts,
    plan_thinking,
    provider_level,
)
from pi.ai.wire_support.handoff import own_level
from pi.base.records import replace
from tests.ai.wire.anthropic_messages.talk import PLAIN, call, model, own, system, tool, user

ADAPTIVE = {"forceAdaptiveThinking": True}
CHANGING = {**ADAPTIVE, "supportsMidConvoEffort": True}
FORCED = {"type": "tool", "name": "peek"}
RESTLESS = model(ADAPTIVE, thinking_level_map={"off": None})
"""A model that always thinks."""


def fields(target: Model = PLAIN, **options: Any) -> Json:
    """The fields of a request for thinking and temperature."""
    payload = encode(call(system("", tool()), user("hi"), model=target, **options))
    names = ("betas", "temperature", "thinking", "output_config")
    return {name: payload[name] for name in names if name in payload}


def budget(tokens: int) -> Json:
    return {
        "betas": ["interleaved-thinking-2025-05-14"],
        "thinking": {"type": "enabled", "budget_tokens": tokens, "display": "summarized"},
    }


OFF = {"thinking": {"type": "disabled"}}


@pytest.mark.behaviour("anthropic-thinking-budget")
@pytest.mark.parametrize(
    ("max_tokens", "expected"),
    [(64_000, budget(16_384)), (8000, budget(6976)), (2048, budget(1024)), (2047, OFF), (1, OFF)],
)
def test_the_budget_leaves_tokens_for_the_answer(max_tokens: int, expected: Json) -> None:
    assert fields(model(max_tokens=max_tokens), reasoning="high") == expected


def test_a_configured_budget_is_raised_to_the_minimum_of_the_server() -> None:
    budgets = {"low": 10, "high": 3000}

    assert fields(reasoning="low", thinking_budgets=budgets) == budget(1024)
    assert fields(reasoning="high", thinking_budgets=budgets) == budget(3000)


@pytest.mark.behaviour("anthropic-thinking-budget")
def test_a_model_with_effort_levels_gets_no_budget() -> None:
    adaptive = {"type": "adaptive", "display": "summarized"}

    got = {
        level: fields(model(ADAPTIVE, max_tokens=1000), reasoning=level)
        for level in ("minimal", "low", "high")
    }

    assert got == {
        "minimal": {"thinking": adaptive, "output_config": {"effort": "low"}},
        "low": {"thinking": adaptive, "output_config": {"effort": "low"}},
        "high": {"thinking": adaptive, "output_config": {"effort": "high"}},
    }


@pytest.mark.behaviour("thinking-off-is-explicit")
def test_off_is_sent_unless_the_model_rejects_it() -> None:
    assert fields(reasoning="off") == OFF
    assert fields(model(ADAPTIVE), reasoning="off") == OFF
    assert fields(RESTLESS, reasoning="off") == {}
    assert fields(model(reasoning=False), reasoning="high") == {}


@pytest.mark.behaviour("anthropic-thinking-budget")
def test_the_temperature_is_sent_only_without_thinking() -> None:
    cold = {"temperature": 0.0}

    assert fields(temperature=0.0) == {**cold, **OFF}
    assert fields(model(reasoning=False), temperature=0.0) == cold
    assert fields(temperature=0.0, reasoning="low") == budget(2048)
    assert fields(RESTLESS, temperature=0.0) == {}
    assert fields(model({"supportsTemperature": False}), temperature=0.0) == OFF


def test_thinking_is_off_for_a_forced_call() -> None:
    assert fields(reasoning="high", tool_choice=FORCED) == OFF
    assert fields(model(ADAPTIVE), reasoning="high", tool_choice={"type": "any"}) == OFF


def test_the_effort_of_an_answer_is_recorded_only_if_it_can_change() -> None:
    asked = call(model=model(CHANGING), reasoning="low")
    compat = compat_of(asked)
    off = replace(asked, options=replace(asked.options, reasoning="off"))

    assert provider_level(plan_thinking(asked, compat), compat) == "low"
    assert provider_level(plan_thinking(off, compat), compat) is None
    fixed = replace(compat, supports_mid_convo_effort=False)
    assert provider_level(plan_thinking(asked, fixed), fixed) is None


def test_the_initial_effort_is_that_of_the_first_own_answer() -> None:
    target = model(CHANGING)
    asked = call(model=target, reasoning="low")
    compat = compat_of(asked)
    plan = plan_thinking(asked, compat)
    foreign = replace(own("x", provider_thinking_level="max"), model="other")
    silent = own("x")
    history = (foreign, silent, own("x", provider_thinking_level="medium"))

    assert efforts(target, compat, plan, history) == Efforts(first="medium", now="low")
    assert efforts(target, compat, plan, (foreign,)) == Efforts(first="low", now="low")
    assert efforts(target, compat, ThinkingPlan(), history) == Efforts(first="medium", now=None)
    assert efforts(target, compat, ThinkingPlan(), ()) is None
    assert [own_level(message, target) for message in history] == [None, None, "medium"]

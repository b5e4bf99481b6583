from __future__ import annotations

import pytest

from pi.ai.errors import BadRequest
from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import ThinkingLevel
from pi.ai.request import StreamOptions
from pi.ai.wire.openai_completions.compat import compat_of
from pi.ai.wire.openai_completions.thinking import FORMATS, thinking_fields
from tests.ai.wire.openai_completions.chats import call_with, model_with


def fields(model: Model, level: ThinkingLevel, budgets: dict[str, int] | None = None) -> Json:
    options = StreamOptions(reasoning=level, thinking_budgets=budgets)
    call = call_with(model=model, options=options)
    return thinking_fields(call, compat_of(call))


def formatted(name: str, **model: object) -> Model:
    return model_with({"thinkingFormat": name}, **model)


@pytest.mark.parametrize("name", list(FORMATS))
def test_a_model_without_reasoning_gets_no_thinking_fields(name: str) -> None:
    assert fields(formatted(name, reasoning=False), "high") == {}


def test_configured_template_arguments_are_sent_even_without_reasoning() -> None:
    kwargs = {"enable_thinking": {"$var": "thinking.enabled"}, "add_date": True}
    model = model_with(
        {"thinkingFormat": "chat-template", "chatTemplateKwargs": kwargs}, reasoning=False
    )

    assert fields(model, "off") == {
        "chat_template_kwargs": {"enable_thinking": False, "add_date": True}
    }


def test_levels_are_sent_with_the_mapped_names_of_the_model() -> None:
    words = {"high": "ultra", "off": "zero"}

    assert fields(formatted("openai", thinkingLevelMap=words), "high") == {
        "reasoning_effort": "ultra"
    }
    assert fields(formatted("openrouter", thinkingLevelMap=words), "off") == {
        "reasoning": {"effort": "zero"}
    }
    assert fields(formatted("string-thinking", thinkingLevelMap=words), "off") == {
        "thinking": "zero"
    }


@pytest.mark.behaviour("thinking-off-is-explicit")
def test_off_is_sent_as_an_effort_if_the_model_has_a_name_for_it() -> None:
    model = formatted("openai", thinkingLevelMap={"off": "none"})

    assert fields(model, "off") == {"reasoning_effort": "none"}


@pytest.mark.parametrize("name", ["openrouter", "string-thinking"])
def test_off_is_not_sent_to_a_model_that_cannot_stop_thinking(name: str) -> None:
    assert fields(formatted(name, thinkingLevelMap={"off": None}), "off") == {}


def test_servers_without_effort_levels_get_only_the_thinking_switch() -> None:
    model = model_with({"thinkingFormat": "qwen", "supportsReasoningEffort": False})

    assert fields(model, "high") == {"enable_thinking": True}


def test_the_budget_is_that_of_the_caller_and_leaves_tokens_for_the_answer() -> None:
    model = model_with({"supportsThinkingTokenBudget": True, "supportsReasoningEffort": False})

    assert fields(model, "low") == {"thinking_token_budget": 2048}
    assert fields(model, "low", {"low": 99}) == {"thinking_token_budget": 99}
    assert fields(model, "high") == {"thinking_token_budget": 9000 - 1024}
    assert fields(model, "off") == {}


def test_template_variables_can_be_the_effort_and_the_budget() -> None:
    arguments = {"effort": {"$var": "thinking.effort"}, "budget": {"$var": "thinking.budget"}}
    model = model_with({"thinkingFormat": "baseten", "chatTemplateArgs": arguments})

    assert fields(model, "low") == {
        "chat_template_args": {"effort": "low", "budget": 2048},
        "reasoning_effort": "low",
    }
    assert fields(model, "off") == {"chat_template_args": {"effort": "none", "budget": 0}}


def test_an_unknown_template_variable_raises_an_error_with_its_name() -> None:
    arguments = {"x": {"$var": "thinking.mood"}}
    model = model_with({"thinkingFormat": "chat-template", "chatTemplateKwargs": arguments})

    with pytest.raises(BadRequest, match=r"thinking\.mood"):
        fields(model, "low")

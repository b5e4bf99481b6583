from __future__ import annotations

import pytest

from pi.ai.errors import BadRequest
from pi.ai.messages import Json
from pi.ai.wire.openai_completions.compat import Compat, compat_of
from tests.ai.wire.openai_completions.chats import call_with, model_with


def flags(compat: Json | None = None, **fields: object) -> Compat:
    return compat_of(call_with(model=model_with(compat, **fields)))


def test_an_unknown_or_local_server_gets_the_default_flags() -> None:
    assert flags() == flags(baseUrl="https://models.example/v1") == Compat()


@pytest.mark.behaviour("chat-host-flags")
def test_unset_flags_are_derived_from_the_host() -> None:
    assert flags(baseUrl="https://api.deepseek.com/v1") == Compat(
        supports_store=False,
        supports_developer_role=False,
        max_tokens_field="max_tokens",
        thinking_format="deepseek",
        requires_reasoning_content_on_assistant_messages=True,
    )
    assert flags(baseUrl="https://openrouter.ai/api/v1") == Compat(
        thinking_format="openrouter", session_affinity_format="openrouter"
    )


def test_a_host_that_only_resembles_a_known_one_is_unknown() -> None:
    assert flags(baseUrl="https://notdeepseek.com") == Compat()
    assert flags(baseUrl="https://deepseek.com.example") == Compat()


def test_the_flags_of_a_provider_behind_another_host_are_derived_from_its_id() -> None:
    assert flags(provider="cerebras", baseUrl="https://proxy.example/v1") == flags(
        baseUrl="https://api.cerebras.ai/v1"
    )


def test_strict_schemas_and_grammars_are_enabled_for_openai() -> None:
    assert flags(baseUrl="https://api.openai.com/v1") == Compat(
        supports_strict_mode=True, supports_openai_grammar_tools=True
    )


def test_flags_of_the_model_override_those_of_the_host() -> None:
    own_flags = {
        "supportsStore": True,
        "maxTokensField": "max_completion_tokens",
        "thinkingFormat": None,
    }

    found = flags(own_flags, baseUrl="https://api.deepseek.com")

    assert (found.supports_store, found.max_tokens_field, found.thinking_format) == (
        True,
        "max_completion_tokens",
        "deepseek",
    )


def test_flags_of_other_wires_are_ignored() -> None:
    assert flags({"forceAdaptiveThinking": True}) == Compat()


def test_an_invalid_flag_raises_an_error_that_names_the_model() -> None:
    with pytest.raises(BadRequest, match=r"model 'm'.*thinkingFormat"):
        flags({"thinkingFormat": "telepathy"})


def test_an_invalid_base_url_gets_the_default_flags() -> None:
    assert flags(baseUrl="http://[::1") == Compat()


@pytest.mark.parametrize(
    ("compat", "field"),
    [
        ({}, None),
        ({"supportsThinkingTokenBudget": True}, "thinking_token_budget"),
        ({"thinkingTokenBudgetField": "thinking_budget_tokens"}, "thinking_budget_tokens"),
        (
            {"thinkingTokenBudgetField": "thinking_budget", "supportsThinkingTokenBudget": True},
            "thinking_budget",
        ),
        (
            {"thinkingTokenBudgetField": "thinking_budget", "supportsThinkingTokenBudget": False},
            None,
        ),
    ],
)
def test_the_budget_field_depends_on_both_of_its_flags(compat: Json, field: str | None) -> None:
    assert flags(compat).budget_field == field

"""Which model a pattern selects."""

from __future__ import annotations

import pytest

from pi.coding.models.registry import find_model, find_scope, full_name
from tests.coding.models.catalogue import MODELS


def found(pattern: str, *usable: str, provider: str | None = None) -> str | None:
    choice = find_model(pattern, MODELS, usable=lambda name: name in usable, provider=provider)
    if choice is None:
        return None
    level = f":{choice.thinking}" if choice.thinking else ""
    return f"{full_name(choice.model)}{level}"


@pytest.mark.behaviour("model-ids-resolve-exactly")
@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("claude-opus-4-6", "anthropic/claude-opus-4-6"),
        ("anthropic/claude-opus-4-6", "anthropic/claude-opus-4-6"),
        ("openrouter/anthropic/claude-opus-4-6", "openrouter/anthropic/claude-opus-4-6"),
        ("qwen/qwen3:free", "openrouter/qwen/qwen3:free"),
        ("openrouter/qwen/qwen3:free:high", "openrouter/qwen/qwen3:free:high"),
        ("GPT-5", "openai/gpt-5"),
        ("gpt-5:low", "openai/gpt-5:low"),
    ],
)
def test_an_exact_name_is_matched_first(pattern: str, name: str) -> None:
    assert found(pattern) == name


@pytest.mark.behaviour("model-ids-resolve-exactly")
def test_a_bare_id_selects_the_provider_with_credentials() -> None:
    assert found("gpt-5", "azure") == "azure/gpt-5"
    assert found("gpt-5", "azure", provider="openai") == "openai/gpt-5"


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("opus", "anthropic/claude-opus-4-6"),
        ("sonnet4.5", "anthropic/claude-sonnet-4-5"),
        ("sonnet:high", "anthropic/claude-sonnet-4-5:high"),
        ("openai mini", "openai/gpt-5-mini"),
        ("openai/mini", "openai/gpt-5-mini"),
    ],
)
def test_a_partial_name_selects_a_model(pattern: str, name: str) -> None:
    assert found(pattern, "anthropic", "openai") == name


def test_within_one_provider_the_name_of_the_provider_is_matched_last() -> None:
    assert found("o", provider="openrouter") == "openrouter/anthropic/claude-opus-4-6"
    assert found("openrouter", provider="openrouter") == "openrouter/qwen/qwen3:free"


@pytest.mark.parametrize(
    "pattern", ["nope", "opus:enormous", "", "///", "claude-opus-4-6:", "pus", "ni5"]
)
def test_an_unknown_model_is_not_found(pattern: str) -> None:
    assert found(pattern, "anthropic") is None


def test_a_scope_accepts_globs_names_and_levels_without_duplicates() -> None:
    scope = find_scope(
        ["anthropic/*:low", "opus", "*mini*", "nope", "azure/gpt-5"],
        MODELS,
        usable=lambda name: name in ("anthropic", "openai"),
    )

    assert [(full_name(choice.model), choice.thinking) for choice in scope] == [
        ("anthropic/claude-sonnet-4-5-20250929", "low"),
        ("anthropic/claude-sonnet-4-5", "low"),
        ("anthropic/claude-opus-4-6", "low"),
        ("openai/gpt-5-mini", None),
    ]

from __future__ import annotations

from typing import Any

import pytest

from pi.ai.models.catalog import bundled_models
from pi.ai.models.model import Model
from pi.ai.providers.model_lists import list_request, read_list
from pi.ai.providers.rows import BUILT_IN
from pi.ai.request import Access

KEY = Access(api_key="K", kind="api_key")
WITHOUT = {"amazon-bedrock", "azure", "google-vertex", "openai-codex", "radius"}
"""Providers without a list, or with one that is asked whenever models are listed."""


def default_of(provider: str) -> Model:
    [row] = [row for row in BUILT_IN if row.id == provider]
    return next(model for model in bundled_models(provider) if model.id == row.default_model)


@pytest.mark.parametrize(
    ("provider", "url", "header"),
    [
        ("openai", "https://api.openai.com/v1/models", ("Authorization", "Bearer K")),
        (
            "anthropic",
            "https://api.anthropic.com/v1/models?limit=1000",
            ("x-api-key", "K"),
        ),
        (
            "google",
            "https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000",
            ("x-goog-api-key", "K"),
        ),
        ("mistral", "https://api.mistral.ai/v1/models", ("Authorization", "Bearer K")),
        ("openrouter", "https://openrouter.ai/api/v1/models/user", ("Authorization", "Bearer K")),
        ("kimi-coding", "https://api.kimi.com/coding/v1/models", ("Authorization", "Bearer K")),
    ],
)
def test_each_protocol_has_its_list(provider: str, url: str, header: tuple[str, str]) -> None:
    request = list_request(default_of(provider), KEY)

    assert request is not None
    assert request.url == url
    assert header in request.headers


def test_every_other_provider_has_a_list_at_its_own_address() -> None:
    listed = {row.id for row in BUILT_IN if bundled_models(row.id)} - WITHOUT
    filled = Access(api_key="K", base_url="https://filled.example/v1")
    for provider in listed:
        model = default_of(provider)
        access = filled if "{" in model.base_url else KEY
        request = list_request(model, access)
        assert request is not None, provider
        assert request.url.startswith((access.base_url or model.base_url).rstrip("/"))
    assert [list_request(default_of(name), KEY) for name in sorted(WITHOUT)] == [None] * 5


def test_limits_are_read_in_the_words_of_each_provider() -> None:
    entries = [
        {"id": "a", "context_length": 10, "max_completion_tokens": 5},
        {"id": "b", "max_context_length": 11, "name": "b-2512"},
        {"id": "c", "display_name": "C", "max_input_tokens": 12},
        {"id": "d", "capabilities": {"limits": {"max_context_window_tokens": 13}}},
        {"id": "e", "context_length": True, "max_output_tokens": "7"},
        {"id": 5},
        "x",
    ]

    assert read_list("p", {"data": entries}, []) == {
        "a": {"id": "a", "contextWindow": 10, "maxTokens": 5},
        "b": {"id": "b", "contextWindow": 11},
        "c": {"id": "c", "name": "C", "contextWindow": 12},
        "d": {"id": "d", "contextWindow": 13},
        "e": {"id": "e"},
    }


def test_the_list_of_google_is_read() -> None:
    methods = ["generateContent"]
    entries = [
        {
            "name": "models/gemini-5",
            "displayName": "Gemini 5",
            "inputTokenLimit": 100,
            "outputTokenLimit": 50,
            "supportedGenerationMethods": methods,
        },
        {"name": "models/gemini-5-tts", "supportedGenerationMethods": methods},
        {"name": "models/other", "supportedGenerationMethods": ["embedContent"]},
    ]

    assert read_list("google", {"models": entries}, []) == {
        "gemini-5": {
            "id": "gemini-5",
            "name": "Gemini 5",
            "contextWindow": 100,
            "maxTokens": 50,
        }
    }


@pytest.mark.parametrize(
    "entry",
    [
        {"id": "text-embedding-9"},
        {"id": "gpt-image-3"},
        {"id": "m", "type": "embedding"},
        {"id": "m", "capabilities": {"function_calling": False}},
        {"id": "m", "capabilities": {"type": "embeddings"}},
        {"id": "m", "capabilities": {"supports": {"tool_calls": False}}},
    ],
)
def test_models_for_other_purposes_are_taken_over_only_if_the_catalog_has_them(
    entry: dict[str, Any],
) -> None:
    assert read_list("p", [entry], []) == {}
    assert list(read_list("p", [entry], [entry["id"]])) == [entry["id"]]


@pytest.mark.parametrize("document", [None, {}, {"data": {}}, "x", 7])
def test_anything_else_is_refused(document: object) -> None:
    with pytest.raises(ValueError, match="not a list of models"):
        read_list("p", document, [])

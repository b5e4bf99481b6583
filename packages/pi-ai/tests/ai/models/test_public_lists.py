from __future__ import annotations

import pytest

from pi.ai.models.public_lists import (
    from_models_dev,
    from_openrouter,
    from_vercel,
    read_document,
)


def test_models_dev_is_filtered_to_models_that_call_tools_and_renamed() -> None:
    document = {
        "fireworks-ai": {
            "models": {
                "a": {
                    "name": "A",
                    "tool_call": True,
                    "reasoning": True,
                    "modalities": {"input": ["text", "image"]},
                    "cost": {"input": 0.5, "output": 2, "cache_read": 0.05},
                    "limit": {"context": 131072, "output": 8192},
                },
                "embed": {"name": "E", "tool_call": False},
                "old": {"name": "O", "tool_call": True, "status": "deprecated"},
            }
        },
        "another-provider": {"models": {"x": {"tool_call": True}}},
    }

    assert from_models_dev(document) == {
        "fireworks": {
            "a": {
                "id": "a",
                "name": "A",
                "reasoning": True,
                "input": ["text", "image"],
                "cost": {"input": 0.5, "output": 2, "cacheRead": 0.05},
                "contextWindow": 131072,
                "maxTokens": 8192,
            }
        }
    }


def test_openrouter_prices_per_token_become_prices_per_million() -> None:
    document = {
        "data": [
            {
                "id": "x/y",
                "name": "Y",
                "context_length": 200_000,
                "architecture": {"input_modalities": ["text"]},
                "pricing": {
                    "prompt": "0.0000003",
                    "completion": "0.0000012",
                    "input_cache_read": "-1",
                    "input_cache_write": "soon",
                },
                "top_provider": {"context_length": 100_000, "max_completion_tokens": None},
                "supported_parameters": ["tools"],
            },
            {"id": "no/tools", "supported_parameters": ["temperature"]},
            {"id": "no/parameters"},
        ]
    }

    assert from_openrouter(document) == {
        "openrouter": {
            "x/y": {
                "id": "x/y",
                "name": "Y",
                "reasoning": False,
                "input": ["text"],
                "cost": {"input": 0.3, "output": 1.2},
                "contextWindow": 100_000,
            }
        }
    }


def test_vercel_tags_determine_the_capabilities_of_a_model() -> None:
    document = {
        "data": [
            {
                "id": "v/m",
                "name": "M",
                "context_window": 1000,
                "max_tokens": 100,
                "tags": ["tool-use", "reasoning", "vision"],
                "pricing": {"input": "0.000001", "output": "0.000002"},
            },
            {"id": "v/image", "tags": ["image-generation"]},
            {"id": "v/none"},
        ]
    }

    assert from_vercel(document) == {
        "vercel-ai-gateway": {
            "v/m": {
                "id": "v/m",
                "name": "M",
                "reasoning": True,
                "input": ["text", "image"],
                "cost": {"input": 1.0, "output": 2.0},
                "contextWindow": 1000,
                "maxTokens": 100,
            }
        }
    }


def test_prices_of_long_prompts_become_tiers_and_zeros_state_no_price() -> None:
    cost = {"input": 1, "output": 2, "context_over_200k": {"input": 2, "output": 4}}
    models = {
        "long": {"tool_call": True, "cost": cost},
        "plan": {"tool_call": True, "cost": {"input": 0, "output": 0, "cache_read": 0}},
    }

    listed = from_models_dev({"openai": {"models": models}})["openai"]

    tier = {"inputTokensAbove": 200_000, "input": 2, "output": 4}
    assert listed["long"]["cost"] == {"input": 1, "output": 2, "tiers": [tier]}
    assert "cost" not in listed["plan"]


@pytest.mark.parametrize(
    ("document", "providers"),
    [
        ({"providers": {"p": {"m": {"contextWindow": 5}}}}, ["p"]),
        ({"data": [{"id": "a/b", "supported_parameters": ["tools"]}]}, ["openrouter"]),
        ({"openai": {"models": {"g": {"tool_call": True}}}, "other": {}}, ["openai"]),
    ],
)
def test_the_form_of_a_document_is_recognised(document: object, providers: list[str]) -> None:
    assert list(read_document(document)) == providers


@pytest.mark.parametrize(
    "document", [{}, [], None, "x", {"providers": []}, {"a": 1}, {"data": [1]}]
)
def test_a_document_of_another_form_is_refused(document: object) -> None:
    with pytest.raises(ValueError, match="not a list of models"):
        read_document(document)


def test_abilities_that_a_list_does_not_name_are_left_open() -> None:
    models = {"silent": {"tool_call": True}, "loud": {"tool_call": True, "reasoning": False}}

    listed = from_models_dev({"openai": {"models": models}})["openai"]

    assert listed == {
        "silent": {"id": "silent", "name": "silent"},
        "loud": {"id": "loud", "name": "loud", "reasoning": False},
    }
